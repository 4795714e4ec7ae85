"""Several training runs as one job: each in a folder of its own, done ones kept, a stopped one resumed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drmamba.config import RunConfig, replace_values
from drmamba.data.dibco import CONTEST_PAGES
from drmamba.errors import TrainingError
from drmamba.training.run import train
from drmamba.training.run_directory import RunDirectory

Say = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """One run of a series."""

    name: str
    config: RunConfig
    folder: Path


@dataclass(frozen=True)
class Engine:
    """Where runs happen."""

    devices: int = 1
    accelerator: str = "auto"
    shown: bool = True

    @property
    def device(self) -> str:
        """Where a finished model is scored."""
        return "cuda" if self.accelerator in ("cuda", "gpu") else self.accelerator

    def run(self, job: Job) -> dict[str, Any] | None:
        """Start the run, go on with it, or read what it gave; None if someone interrupted it."""
        folder = RunDirectory(job.folder)
        begun = folder.settings.is_file()
        if begun and not same_but_for_length(folder.config(), job.config):
            raise TrainingError(
                f"{job.folder} holds a run with other settings; finish it with those, or choose another folder"
            )
        if folder.finished:
            if folder.config() != job.config:
                raise TrainingError(f"{job.folder} is finished, with another length; choose another folder")
            return folder.read_scores()
        if self.devices > 1:
            return self._apart(folder, job.config, begun)
        return train(
            job.config, job.folder, resume=begun, accelerator=self.accelerator, shown=self.shown
        ).scores

    def _apart(self, folder: RunDirectory, config: RunConfig, begun: bool) -> dict[str, Any] | None:
        """Run in a program of its own, which starts one process a device by starting itself again."""
        folder.change(config) if begun else folder.begin(config)
        where = ["--devices", str(self.devices), "--accelerator", self.accelerator]
        command = [sys.executable, "-m", "drmamba", "train", "-o", str(folder.root), "--resume", *where]
        code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
        if code not in (0, 130):
            raise TrainingError(f"the run in {folder.root} failed; `{folder.resume_command}` tells why")
        return folder.read_scores() if code == 0 else None


def run_series(jobs: Sequence[Job], engine: Engine, say: Say) -> Iterator[tuple[Job, dict[str, Any]]]:
    """The scores of each job as it finishes; the series ends early if someone interrupts."""
    for number, job in enumerate(jobs, 1):
        if not RunDirectory(job.folder).finished:
            say(f"run {number} of {len(jobs)}: {job.name} in {job.folder}")
        scores = engine.run(job)
        if scores is None:
            return
        yield job, scores


def same_but_for_length(one: RunConfig, other: RunConfig) -> bool:
    """Whether two runs differ in nothing but how long they go."""
    length = {"train": {"max_minutes": 0.0, "steps": 0, "epochs": 1}}
    return replace_values(one, length) == replace_values(other, length)


def incomplete(years: Iterable[tuple[str, int]]) -> list[str]:
    """A note for every year, given with the pages scored, that is not the contest's whole fold."""
    return [
        f"{year}: {pages} of the contest's {CONTEST_PAGES[year]} pages, so not the paper's fold"
        for year, pages in years
        if pages != CONTEST_PAGES.get(year, pages)
    ]
