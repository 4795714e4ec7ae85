"""The checkpoint that a run resumes from: one safetensors file without pickles, which is replaced atomically."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from drmamba.checkpoint import digest
from drmamba.errors import FileError, TrainingError
from drmamba.files import write_atomic
from drmamba.training.learner import Learner, optimizer_tensors, restore_optimizer

FORMAT = "drmamba-run-1"


@dataclass(frozen=True)
class Position:
    """How far a run is, and what it started from."""

    step: int = 0  # updates, which determine crops and schedule
    seconds: float = 0.0  # active time
    validations: int = 0
    fm: float | None = None  # of the last validation
    encoder_weights: str = ""  # origin of the encoder's initial weights; earlier versions did not record it


def save_state(path: Path, learner: Learner, position: Position) -> None:
    """Write weights, averaged weights, the optimizer's state and the position; on failure the old file remains."""
    tensors: dict[str, Tensor] = {}
    tensors |= {f"model/{name}": value for name, value in learner.network.state_dict().items()}
    tensors |= {f"average/{name}": value for name, value in learner.ema.tensors.items()}
    tensors |= {f"optimizer/{name}": value for name, value in optimizer_tensors(learner)}
    metadata = {"format": FORMAT, "position": json.dumps(asdict(position))}
    plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    metadata["digest"] = digest(plain)
    try:
        write_atomic(path, save(plain, metadata))
    except FileError as error:
        raise TrainingError(
            f"{error}; the previous checkpoint is kept; free some space and resume the run"
        ) from error


def load_state(path: Path, learner: Learner) -> Position:
    """Load what `save_state` wrote; returns the position."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise TrainingError(f"{path} is not a checkpoint of a training run")
            position = Position(**json.loads(metadata["position"]))
            parts: dict[str, dict[str, Tensor]] = {"model": {}, "average": {}, "optimizer": {}}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a dict)
        if "digest" in metadata and metadata["digest"] != digest(tensors):  # Earlier versions state none.
            raise TrainingError(f"{path} is damaged: its values are not those that were written")
        for name, value in tensors.items():
            part, _, rest = name.partition("/")
            parts[part][rest] = value
        learner.network.load_state_dict(parts["model"])
        learner.ema.load(parts["average"])
        restore_optimizer(learner, parts["optimizer"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise TrainingError(f"{path} cannot be resumed from: {error}") from error
    return position
