"""Models by name: a preset, a file or a Hub id, for torch or exported for ONNX Runtime, which needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from drmamba import checkpoint
from drmamba.checkpoint import Provenance
from drmamba.config import PRESETS, EngineConfig, ModelConfig, preset
from drmamba.errors import CheckpointError, ConfigError
from drmamba.files import sha256
from drmamba.inference.runtime.base import Runtime, usable_cores
from drmamba.model import hub_files

if TYPE_CHECKING:
    from torch import nn

EXPORTED = ".onnx"


def load_model(
    model: str | Path, engine: EngineConfig | None = None
) -> tuple[nn.Module | Runtime, Provenance, str]:
    """Return the network behind a name, its provenance, and the hash of its file.

    A preset without weights in the package is built untrained, always with the same random numbers.
    """
    engine = engine or EngineConfig()
    path = find_model(model, engine)
    if path is None:
        _require_torch(str(model), engine)
        return _untrained(str(model)), Provenance(preset=str(model), trained=False), f"untrained-{model}"
    if path.suffix == EXPORTED:
        if engine.runtime == "torch":
            raise ConfigError(f"{path} is an exported model; it runs with --runtime onnx")
        from drmamba.inference.runtime.onnx import OnnxRuntime

        runtime = OnnxRuntime(path, engine)
        return runtime, runtime.provenance, sha256(path)
    _require_torch(str(model), engine)
    network, provenance = checkpoint.load(path)
    return network, provenance, sha256(path)


def find_model(model: str | Path, engine: EngineConfig | None = None) -> Path | None:
    """Return the file behind a name, fetched from the Hub if it is an id; None for a preset without weights."""
    name = str(model)
    if name in PRESETS:
        return checkpoint.embedded(name)
    path = Path(model)
    if path.is_file():
        return path
    if path.is_dir():
        raise CheckpointError(
            f"{path} is a folder; give the model file in it, such as {path / hub_files.WEIGHTS}"
        )
    exported = engine is not None and engine.runtime == "onnx"
    if (found := hub_files.parse_id(name)) is not None:
        try:
            return hub_files.fetch(found[0], hub_files.EXPORTED if exported else hub_files.WEIGHTS, found[1])
        except CheckpointError as error:
            raise CheckpointError(f"{error} (and there is no file {name})") from error
    known = ", ".join(PRESETS)
    raise CheckpointError(f"there is no model {name!r}: give a file, a Hub id, or one of {known}")


def read_header(path: Path) -> tuple[ModelConfig, Provenance]:
    """Return the configuration and provenance that a model file states, exported or not."""
    if path.suffix != EXPORTED:
        return checkpoint.read_header(path)
    from drmamba.inference.runtime.onnx import OnnxRuntime

    runtime = OnnxRuntime(path, EngineConfig(workers=1))
    return runtime.model, runtime.provenance


def cpu_workers(model: str | Path, engine: EngineConfig) -> int:
    """Return as many workers as there are cores for this model; 0 if it runs on GPUs."""
    if engine.runtime == "onnx" or (engine.runtime == "auto" and str(model).endswith(EXPORTED)):
        return usable_cores()
    _require_torch(str(model), engine)
    import torch

    on_cpu = engine.device == "cpu" or not torch.cuda.is_available()
    return torch.get_num_threads() if on_cpu else 0


def _untrained(name: str) -> nn.Module:
    import torch

    from drmamba.model.network import DRMamba

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return DRMamba(preset(name))


def _require_torch(name: str, engine: EngineConfig) -> None:
    """Raise unless a model that was not exported can run with these settings."""
    if engine.runtime == "onnx":
        write = f"drmamba export --format onnx -o model{EXPORTED} --model {name}"
        raise ConfigError(
            f"--runtime onnx runs exported models; write one with `{write}` and give it as --model"
        )
    require_torch(f"the model {name!r}", f", or give an exported {EXPORTED} file as --model")


def require_torch(what: str, otherwise: str = "") -> None:
    """Raise if torch is missing; exported models do not need it."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise CheckpointError(
            f"{what} needs torch, which is not installed: pip install torch{otherwise}"
        ) from error
