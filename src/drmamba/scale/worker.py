"""The work of one actor: the local engine's batch, on one core or one GPU, with a notebook elsewhere."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from drmamba.config import EngineConfig, InferenceConfig
from drmamba.errors import CheckpointError
from drmamba.inference.batch import Batch, BatchOptions
from drmamba.inference.binarizer import Binarizer, UntrainedWarning
from drmamba.inference.jobs import Job
from drmamba.inference.records import PageRecord
from drmamba.scale.store_batch import StoreBatch
from drmamba.scale.tries import Notebook


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """What every worker is told before its first page."""

    model: str
    model_file: bytes | None  # of a model that is a file here: other machines need not have it
    model_sha256: str
    config: InferenceConfig
    engine: EngineConfig
    options: BatchOptions
    folder: str  # where relative paths start
    stores: tuple[str, str] | None  # URIs below which sources and outputs lie; None: they are plain files
    tries: int  # of a file that kills its worker


class PageWorker:
    """Called with a few files, returns their records; one row a file, whatever happened to it."""

    def __init__(self, assignment: Assignment, notebook: Notebook) -> None:
        self.assignment, self.notebook = assignment, notebook
        with contextlib.suppress(OSError):  # absolute paths work without it
            os.chdir(assignment.folder)
        self.binarizer = _binarizer(assignment)
        if assignment.stores:
            self.batch: Batch = StoreBatch(self.binarizer, assignment.options, *assignment.stores)
        else:
            self.batch = Batch(self.binarizer, assignment.options)
        self.batch.__enter__()  # decoding processes stay as long as the worker

    def __call__(self, rows: dict[str, Any]) -> dict[str, list[Any]]:
        """Columns `file`, `source`, `output` in; `file` and `records` (JSON) out."""
        jobs = {
            int(file): Job(Path(source), Path(output))
            for file, source, output in zip(rows["file"], rows["source"], rows["output"], strict=True)
        }
        begun = self.notebook.begin(list(jobs))
        if begun.stopped:
            return {"file": [], "records": []}
        done = dict(begun.finished)
        left = [file for file in jobs if file not in done]
        groups = [[file] for file in left] if begun.again else [left] if left else []
        for group in groups:
            before = self.notebook.begin_alone(group[0]) if begun.again else 0
            if before >= self.assignment.tries:
                done[group[0]] = as_json([_poison(jobs[group[0]], before)])
                continue
            for file, records in self.work({file: jobs[file] for file in group}):
                done[file] = as_json(records)
                self.notebook.finish(file, done[file])
        return {"file": list(done), "records": list(done.values())}

    def work(self, jobs: dict[int, Job]) -> Iterator[tuple[int, list[PageRecord]]]:
        """The files' records, each file's when it is done."""
        files = {str(job.source): file for file, job in jobs.items()}
        records: dict[int, list[PageRecord]] = {file: [] for file in jobs}
        for record in self.batch.run(list(jobs.values())):
            file = files[record.input]
            records[file].append(record)
            if record.last:
                yield file, records.pop(file)
        for file, found in records.items():  # whatever happened to them, they are not done
            words = f"{jobs[file].source}: its worker came back without a result"
            yield file, [*found, PageRecord(status="failed", input=str(jobs[file].source), error=words)]


def as_json(records: list[PageRecord]) -> str:
    """Records for the way between machines."""
    return json.dumps([asdict(record) for record in records])


def from_json(text: str) -> list[PageRecord]:
    """Records as they were."""
    return [PageRecord(**values) for values in json.loads(text)]


def _poison(job: Job, tries: int) -> PageRecord:
    words = f"{job.source} ended its worker {tries} times, alone each time, and was given up"
    return PageRecord(status="failed", input=str(job.source), error=words)


def _binarizer(assignment: Assignment) -> Binarizer:
    """The model that the driver has, or an error."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", UntrainedWarning)  # the driver has told it
        model = assignment.model
        if assignment.model_file is not None:
            model = str(Path(folder) / Path(model).name)
            Path(model).write_bytes(assignment.model_file)
        made = Binarizer.from_pretrained(model, config=assignment.config, engine=assignment.engine)
    if made.sha256 != assignment.model_sha256:
        raise CheckpointError(
            f"the model {assignment.model!r} is another one on this machine ({made.sha256[:12]}) than where "
            f"the run was started ({assignment.model_sha256[:12]}); give the model as a file"
        )
    return made
