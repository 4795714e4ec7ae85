"""The training runs of a study: each has its own folder, finished runs are kept, stopped ones are resumed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
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
class TrainingJob:
    """One run of a series."""

    name: str
    config: RunConfig
    folder: Path


@dataclass(frozen=True)
class RunLauncher:
    """Starts the runs of a series on the devices that it was given."""

    devices: int = 1
    accelerator: str = "auto"
    shown: bool = True  # whether a run in this process shows its progress

    @property
    def device(self) -> str:
        """The device on which a finished model is scored."""
        return "cuda" if self.accelerator in ("cuda", "gpu") else self.accelerator

    def run(self, job: TrainingJob) -> dict[str, Any] | None:
        """Start or resume the run, or read its scores if it is finished; None if someone interrupted it."""
        folder = RunDirectory(job.folder)
        started = folder.settings.is_file()
        if started and not same_but_for_length(folder.config(), job.config):
            raise TrainingError(
                f"{job.folder} holds a run with other settings; finish it with those, or choose another folder"
            )
        if folder.finished:
            if folder.config() != job.config:
                raise TrainingError(f"{job.folder} is finished, with another length; choose another folder")
            return folder.read_scores()
        if self.devices > 1:
            return self._run_as_program(folder, job.config, started)
        return train(
            job.config, job.folder, resume=started, accelerator=self.accelerator, shown=self.shown
        ).scores

    def _run_as_program(
        self, folder: RunDirectory, config: RunConfig, started: bool
    ) -> dict[str, Any] | None:
        """Run `drmamba train`, which starts itself again once for each further device."""
        folder.change(config) if started else folder.begin(config)
        devices = ["--devices", str(self.devices), "--accelerator", self.accelerator]
        command = [sys.executable, "-m", "drmamba", "train", "-o", str(folder.root), "--resume", *devices]
        code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
        if code not in (0, 130):
            raise TrainingError(f"the run in {folder.root} failed; `{folder.resume_command}` shows why")
        return folder.read_scores() if code == 0 else None


def same_but_for_length(one: RunConfig, other: RunConfig) -> bool:
    """Return whether two runs differ in nothing but their length."""
    length = {"train": {"max_minutes": 0.0, "steps": 0, "epochs": 1}}
    return replace_values(one, length) == replace_values(other, length)


def incomplete(years: Iterable[tuple[str, int]]) -> list[str]:
    """Return a note for every year, given with its number of scored pages, that lacks some of the contest's."""
    return [
        f"{year}: {pages} of the contest's {CONTEST_PAGES[year]} pages, so not the paper's fold"
        for year, pages in years
        if pages != CONTEST_PAGES.get(year, pages)
    ]
