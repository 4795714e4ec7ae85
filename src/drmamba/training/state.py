"""The checkpoint a run resumes from: one safetensors file, replaced as a whole; nothing in it is a pickle."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from drmamba.errors import FileError, TrainingError
from drmamba.files import write_atomic
from drmamba.training.learner import Learner, optimizer_tensors, restore_optimizer

FORMAT = "drmamba-run-1"


@dataclass(frozen=True)
class Position:
    """Where a run is: updates done (crops and schedule follow), active seconds, validations and the last FM."""

    step: int = 0
    seconds: float = 0.0
    validations: int = 0
    fm: float | None = None


def save_state(path: Path, learner: Learner, position: Position) -> None:
    """Write weights, averaged weights, the optimizer's memory and the position, or leave the old file."""
    tensors: dict[str, Tensor] = {}
    tensors |= {f"model/{name}": value for name, value in learner.network.state_dict().items()}
    tensors |= {f"average/{name}": value for name, value in learner.average.tensors.items()}
    tensors |= {f"optimizer/{name}": value for name, value in optimizer_tensors(learner)}
    metadata = {"format": FORMAT, "position": json.dumps(asdict(position))}
    plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    try:
        write_atomic(path, save(plain, metadata))
    except FileError as error:
        raise TrainingError(
            f"{error}; the checkpoint before it is kept, resume once there is room"
        ) from error


def load_state(path: Path, learner: Learner) -> Position:
    """Continue where `save_state` stopped; returns the position."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise TrainingError(f"{path} is not a checkpoint of a training run")
            position = Position(**json.loads(metadata["position"]))
            parts: dict[str, dict[str, Tensor]] = {"model": {}, "average": {}, "optimizer": {}}
            for name in file.keys():  # noqa: SIM118  (not a dict)
                part, _, rest = name.partition("/")
                parts[part][rest] = file.get_tensor(name)
        learner.network.load_state_dict(parts["model"])
        learner.average.load(parts["average"])
        restore_optimizer(learner, parts["optimizer"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise TrainingError(f"{path} cannot be resumed from: {error}") from error
    return position
