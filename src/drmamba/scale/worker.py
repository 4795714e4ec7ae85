"""The work of one actor: the local batch on one core or one GPU, with the task log in another process."""

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
from drmamba.inference.conversion import FileConversion
from drmamba.inference.jobs import FileJob
from drmamba.inference.records import PageRecord
from drmamba.scale.store_conversion import StoreConversion
from drmamba.scale.task_log import TaskLog


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """What every worker receives before its first page."""

    model: str
    model_file: bytes | None  # the model, if it is a file here that other machines may not have
    model_sha256: str
    config: InferenceConfig
    engine: EngineConfig
    options: BatchOptions
    folder: str  # the folder in which relative paths start
    stores: tuple[str, str] | None  # URIs of sources and outputs; None if they are plain files
    tries: int  # how often a file that kills its worker is tried alone


class PageWorker:
    """Takes a few files and returns their records, one row a file, whatever happened to it; close it when done."""

    def __init__(self, assignment: Assignment, log: TaskLog) -> None:
        self.assignment, self.log = assignment, log
        with contextlib.suppress(OSError):  # absolute paths work without it
            os.chdir(assignment.folder)
        with contextlib.ExitStack() as opened:
            self.binarizer = opened.enter_context(_binarizer(assignment))
            conversion = None
            if assignment.stores:
                files = FileConversion(self.binarizer, assignment.options)
                conversion = StoreConversion(files, *assignment.stores)
            # Decoding processes are kept as long as the worker.
            self.batch = opened.enter_context(Batch(self.binarizer, assignment.options, conversion))
            self._opened = opened.pop_all()

    def close(self) -> None:
        """End the decoding processes and the network's threads."""
        self._opened.close()

    def __call__(self, rows: dict[str, Any]) -> dict[str, list[Any]]:
        """Take the columns `file`, `source` and `output`; return `file` and `records` (JSON)."""
        jobs = {
            int(file): FileJob(Path(source), Path(output))
            for file, source, output in zip(rows["file"], rows["source"], rows["output"], strict=True)
        }
        start = self.log.start(list(jobs))
        if start.stopped:
            return {"file": [], "records": []}
        done = dict(start.finished)
        left = [file for file in jobs if file not in done]
        groups = [[file] for file in left] if start.repeated else [left] if left else []
        for group in groups:
            before = self.log.start_alone(group[0]) if start.repeated else 0
            if before >= self.assignment.tries:
                done[group[0]] = as_json([_given_up(jobs[group[0]], before)])
                continue
            for file, records in self.work({file: jobs[file] for file in group}):
                done[file] = as_json(records)
                self.log.finish(file, done[file])
        return {"file": list(done), "records": list(done.values())}

    def work(self, jobs: dict[int, FileJob]) -> Iterator[tuple[int, list[PageRecord]]]:
        """Yield each file with its records when it is done."""
        files = {str(job.source): file for file, job in jobs.items()}
        records: dict[int, list[PageRecord]] = {file: [] for file in jobs}
        for record in self.batch.run(list(jobs.values())):
            file = files[record.input]
            records[file].append(record)
            if record.last:
                yield file, records.pop(file)
        for file, found in records.items():  # whatever happened to these, they are not done
            words = f"{jobs[file].source}: its worker came back without a result"
            yield file, [*found, PageRecord(status="failed", input=str(jobs[file].source), error=words)]


def as_json(records: list[PageRecord]) -> str:
    """Return records as text that is sent between machines."""
    return json.dumps([asdict(record) for record in records])


def from_json(text: str) -> list[PageRecord]:
    """Return the records in a text that `as_json` made."""
    return [PageRecord(**values) for values in json.loads(text)]


def _given_up(job: FileJob, tries: int) -> PageRecord:
    words = f"{job.source} ended its worker {tries} times, alone each time, and was given up"
    return PageRecord(status="failed", input=str(job.source), error=words)


def _binarizer(assignment: Assignment) -> Binarizer:
    """Return a Binarizer with the model that the driver has; another model is an error."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", UntrainedWarning)  # the driver has warned already
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
