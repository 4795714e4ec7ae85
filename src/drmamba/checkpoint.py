"""A model in one safetensors file: weights, config and provenance. Nothing here, or anywhere, loads a pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import drmamba
from drmamba.config import Config, ModelConfig
from drmamba.errors import CheckpointError, ConfigError
from drmamba.files import write_atomic

if TYPE_CHECKING:  # torch is imported where a network is: the rest also serves models that run without it
    import torch

    from drmamba.model.network import DRMamba

FORMAT = "drmamba-1"
# Blocks of models written before there were these settings.
BEFORE_BALANCE = {"balanced": False, "residual": True}


@dataclass(frozen=True, kw_only=True)
class Provenance(Config):
    """Where a model comes from; what `drmamba info` prints and reports repeat."""

    preset: str = "custom"
    version: str = ""  # of the package that wrote the file
    date: str = ""
    trained: bool = False
    data: tuple[str, ...] = ()  # what it was trained on: years, extra sets
    held_out: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    notes: str = ""


def save(path: Path | str, network: DRMamba, provenance: Provenance, *, half: bool = False) -> None:
    """Write the network atomically; `half` stores float16, which loads as float32."""
    from safetensors.torch import save as serialize

    tensors = {
        name: (value.half() if half and value.is_floating_point() else value).contiguous()
        for name, value in network.state_dict().items()
    }
    write_atomic(Path(path), serialize(tensors, header(network.config, provenance)))


def header(config: ModelConfig, provenance: Provenance) -> dict[str, str]:
    """What a model file says about itself, whatever its format."""
    stated = {**provenance.to_dict(), "version": provenance.version or drmamba.__version__}
    return {"format": FORMAT, "config": json.dumps(config.to_dict()), "provenance": json.dumps(stated)}


def load(path: Path | str) -> tuple[DRMamba, Provenance]:
    """Read a network and its provenance; every name and shape is checked, and what differs is said."""
    from drmamba.model.network import DRMamba

    path = Path(path)
    config, provenance = read_header(path)
    network = DRMamba(config)
    fit(network, read_tensors(path), path)
    return network, provenance


def read_header(path: Path) -> tuple[ModelConfig, Provenance]:
    """Config and provenance without the weights."""
    return parse_header(_opened(path)[1], path)


def parse_header(metadata: Mapping[str, str], path: Path) -> tuple[ModelConfig, Provenance]:
    """Config and provenance from what a model file says about itself."""
    if metadata.get("format") != FORMAT:
        raise CheckpointError(
            f"{path} is not a drmamba model (its format is {metadata.get('format', 'not stated')!r}, "
            f"{FORMAT!r} is needed); write one with `drmamba train`"
        )
    try:
        config = ModelConfig.from_dict(completed_config(json.loads(metadata["config"])))
        known = Provenance().to_dict()
        stated = json.loads(metadata.get("provenance", "{}"))
        return config, Provenance.from_dict({k: v for k, v in stated.items() if k in known})
    except (KeyError, ValueError, ConfigError) as error:
        raise CheckpointError(f"{path} has unreadable metadata: {error}") from error


def completed_config(config: dict[str, Any]) -> dict[str, Any]:
    """A model's settings with those that older versions did not write, at the values that they stood for."""
    return {**config, "block": {**BEFORE_BALANCE, **config.get("block", {})}}


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Every tensor of a safetensors file."""
    return _opened(path, tensors=True)[0]


def fit(network: torch.nn.Module, tensors: dict[str, torch.Tensor], path: Path | str) -> None:
    """Put the tensors into the network, or say exactly which do not fit."""
    own = network.state_dict()
    wrong = [f"missing {name}" for name in own.keys() - tensors.keys()]
    wrong += [f"unknown {name}" for name in tensors.keys() - own.keys()]
    wrong += [
        f"{name} is {tuple(tensors[name].shape)}, not {tuple(own[name].shape)}"
        for name in own.keys() & tensors.keys()
        if tensors[name].shape != own[name].shape
    ]
    if wrong:
        listed = "; ".join(sorted(wrong)[:8]) + (f"; and {len(wrong) - 8} more" if len(wrong) > 8 else "")
        raise CheckpointError(f"{path} does not fit the network: {listed}")
    network.load_state_dict({name: value.to(own[name].dtype) for name, value in tensors.items()})


def embedded(name: str) -> Path | None:
    """The weights that ship inside the package, or None while there are none of that name."""
    path = Path(str(files("drmamba") / "weights" / f"{name}.safetensors"))
    return path if path.is_file() else None


def _opened(path: Path, *, tensors: bool = False) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    if not path.is_file():
        raise CheckpointError(f"there is no model file {path}")
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt" if tensors else "np") as file:
            values = {name: file.get_tensor(name) for name in file.keys()} if tensors else {}  # noqa: SIM118
            return values, file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is not a readable safetensors file: {error}") from error
