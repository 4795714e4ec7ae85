"""The directory of a run, and the rules for starting, resuming and finishing it.

run.json            every setting; a resumed run reads them from here
manifest.json       each file of the data with its sha256 and role
last.safetensors    the checkpoint to resume from
log.csv, curve.png  every update
model.safetensors   the averaged weights of a finished run
scores.json         the validation and held-out scores of a finished run
held_out/*.png      the binarized held-out pages
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import drmamba
from drmamba.checkpoint import completed_config
from drmamba.config import RunConfig, replace_values
from drmamba.errors import FileError, TrainingError
from drmamba.files import FileLock, write_atomic


@dataclass(frozen=True)
class RunDirectory:
    """The paths of one run."""

    root: Path

    settings = property(lambda self: self.root / "run.json")
    manifest = property(lambda self: self.root / "manifest.json")
    checkpoint = property(lambda self: self.root / "last.safetensors")
    log = property(lambda self: self.root / "log.csv")
    curve = property(lambda self: self.root / "curve.png")
    model = property(lambda self: self.root / "model.safetensors")
    scores = property(lambda self: self.root / "scores.json")
    pages = property(lambda self: self.root / "held_out")

    @property
    def resume_command(self) -> str:
        """The command that resumes the run."""
        return f"drmamba train -o {self.root} --resume"

    def lock(self) -> FileLock:
        """Return the lock of the directory; a run that another process works on is an error."""
        lock = FileLock(self.settings)
        if self.root.is_dir() and not lock.acquire():
            raise TrainingError(f"another process is training in {self.root}; wait for it or end it first")
        return lock

    def begin(self, config: RunConfig) -> None:
        """Write the settings of a new run; a directory that already holds one is an error."""
        if self.settings.exists():
            raise TrainingError(
                f"{self.root} already holds a run; resume it (`{self.resume_command}`) "
                "or choose another folder"
            )
        try:
            self.change(config)
        except FileError as error:
            raise TrainingError(f"cannot start a run in {self.root}: {error}") from error

    def config(self) -> RunConfig:
        """The settings of the run in this directory."""
        if not self.settings.is_file():
            raise TrainingError(
                f"{self.root} holds no run to resume; start one with `drmamba train --data ...`"
            )
        try:
            values = json.loads(self.settings.read_text())["config"]
            return replace_values(RunConfig(), {**values, "model": completed_config(values["model"])})
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise TrainingError(f"{self.settings} cannot be read: {error}") from error

    def change(self, config: RunConfig) -> None:
        """Replace the settings, as when a resumed run is given more time."""
        record = {"version": drmamba.__version__, "config": config.to_dict()}
        write_atomic(self.settings, json.dumps(record, indent=1).encode())

    def pretraining_sets(self) -> list[str]:
        """The training sets of the model that the run started from, as recorded at the start."""
        found: list[str] = self.read_manifest().get("before", [])
        return found

    def page_hashes(self) -> list[str]:
        """The hashes of all pages that the run and the model that it started from have learned from."""
        found: list[str] = self.read_manifest().get("hashes", [])
        return found

    def read_manifest(self) -> dict[str, Any]:
        """The manifest; one that is damaged is an error that says what to do."""
        return _read_json(self.manifest, "delete it, and the next run records the pages that it finds")

    @property
    def finished(self) -> bool:
        """Whether the final scores exist, which are written last."""
        return bool(self.scores.is_file())

    def write_scores(self, scores: dict[str, Any]) -> None:
        """Write the final scores; infinity, which JSON does not have, becomes the string "inf"."""
        write_atomic(self.scores, json.dumps(_plain(scores), indent=1, allow_nan=False).encode())

    def read_scores(self) -> dict[str, Any]:
        """The final scores."""
        return _read_json(self.scores, "delete it and resume the run, which scores the pages again")


def _read_json(path: Path, remedy: str) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise TrainingError(f"{path} cannot be read ({error}); {remedy}") from error
    if not isinstance(found, dict):
        raise TrainingError(f"{path} is damaged; {remedy}")
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
