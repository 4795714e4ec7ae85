"""Models by name: a preset, a file or a Hub id, for torch or exported for ONNX Runtime, which needs no torch."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from drmamba import checkpoint
from drmamba.checkpoint import Provenance
from drmamba.config import PRESETS, EngineConfig, ModelConfig, preset
from drmamba.errors import CheckpointError, ConfigError, MissingExtra
from drmamba.files import sha256
from drmamba.inference.runtime.base import Runtime, usable_cores
from drmamba.model import hub_files

if TYPE_CHECKING:
    from torch import nn

EXPORTED = ".onnx"
CUDA_DRIVERS = ("libcuda.so.1", "nvcuda.dll")  # libraries of the driver on Linux and on Windows


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
    """Return the file behind a name, fetched from the Hub if it is an id; None for a preset without weights.

    Models that come as two files are given as the one that the chosen runtime runs.
    """
    engine = engine or EngineConfig()
    name = str(model)
    if name in PRESETS:
        exported = checkpoint.embedded(name, EXPORTED) if preferred_runtime(engine) == "onnx" else None
        return exported or checkpoint.embedded(name)
    path = Path(model)
    if path.is_file():
        return path
    if path.is_dir():
        raise CheckpointError(
            f"{path} is a folder; give the model file in it, such as {path / hub_files.WEIGHTS}"
        )
    if (found := hub_files.parse_id(name)) is not None:
        exported_only = engine.runtime == "onnx" or (engine.runtime == "auto" and not has_torch())
        wanted = hub_files.EXPORTED if exported_only else hub_files.WEIGHTS
        try:
            return hub_files.fetch(found[0], wanted, found[1])
        except CheckpointError as error:
            raise CheckpointError(f"{error} (and there is no file {name})") from error
    known = ", ".join(PRESETS)
    raise CheckpointError(f"there is no model {name!r}: give a file, a Hub id, or one of {known}")


def preferred_runtime(engine: EngineConfig) -> Literal["torch", "onnx"]:
    """Return what runs a model that comes for both runtimes: torch on a GPU of torch's, otherwise ONNX Runtime."""
    if engine.runtime != "auto":
        return engine.runtime
    on_gpu = engine.device.startswith("cuda") or (engine.device == "auto" and has_cuda_driver())
    return "torch" if on_gpu and has_torch() and _torch_has_cuda() else "onnx"


def has_torch() -> bool:
    """Return whether torch is installed; it is not imported."""
    return importlib.util.find_spec("torch") is not None


def has_cuda_driver() -> bool:
    """Return whether there is a driver of an NVIDIA GPU; without one, torch need not be imported to ask."""
    for name in CUDA_DRIVERS:
        with contextlib.suppress(OSError):
            ctypes.CDLL(name)
            return True
    return False


def _torch_has_cuda() -> bool:
    import torch

    return bool(torch.cuda.is_available())


def read_header(path: Path) -> tuple[ModelConfig, Provenance]:
    """Return the configuration and provenance that a model file states, exported or not."""
    if path.suffix != EXPORTED:
        return checkpoint.read_header(path)
    from drmamba.inference.runtime.onnx import OnnxRuntime

    runtime = OnnxRuntime(path, EngineConfig(workers=1))
    return runtime.model, runtime.provenance


def runs_exported(model: str | Path, engine: EngineConfig) -> bool:
    """Return whether ONNX Runtime runs the model."""
    name = str(model)
    embedded = name in PRESETS and checkpoint.embedded(name, EXPORTED) is not None
    exported = name.endswith(EXPORTED) or (embedded and preferred_runtime(engine) == "onnx")
    return exported or engine.runtime == "onnx"


def cpu_workers(model: str | Path, engine: EngineConfig) -> int:
    """Return as many workers as there are cores for this model; 0 if it may run on a GPU."""
    if runs_exported(model, engine):
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
    require_torch(f"the model {name!r}", f", unless you give an exported {EXPORTED} file as --model")


def require_torch(what: str, otherwise: str = "") -> None:
    """Raise if torch is missing; exported models do not need it."""
    if not has_torch():
        raise MissingExtra("torch", "torch", f"{what} needs it{otherwise}")
