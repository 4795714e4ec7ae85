"""A model in one safetensors file: weights, config and provenance. No pickle is ever loaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import drmamba
from drmamba.config import Config, ModelConfig
from drmamba.errors import CheckpointError, ConfigError
from drmamba.files import write_atomic

if TYPE_CHECKING:  # torch is imported only where a network is built, because models also run without it
    import torch

    from drmamba.model.network import DRMamba

WEIGHTS = Path(drmamba.__file__).parent / "weights"  # the models that ship inside the package
FORMAT = "drmamba-1"  # value of `format` in the header of a model file
# Settings of the block in models that were written before these settings existed.
BEFORE_BALANCE = {"balanced": False, "residual": True}


@dataclass(frozen=True, kw_only=True)
class Provenance(Config):
    """The origin of a model, which `drmamba info` prints and reports repeat."""

    preset: str = "custom"
    version: str = ""  # version of the package that wrote the file
    date: str = ""
    trained: bool = False
    data: tuple[str, ...] = ()  # names of the training sets: years and extra sets
    page_hashes: tuple[str, ...] = ()  # what the training pages look like (data/likeness.py)
    held_out: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    notes: str = ""


def save(path: Path | str, network: DRMamba, provenance: Provenance, *, half: bool = False) -> None:
    """Write the network atomically; `half` stores float16 where it can, which is loaded as float32."""
    from safetensors.torch import save as serialize

    tensors = {
        name: (_halved(value) if half else value).contiguous() for name, value in network.state_dict().items()
    }
    stated = header(network.config, provenance) | {"digest": digest(tensors)}
    write_atomic(Path(path), serialize(tensors, stated))


def _halved(value: torch.Tensor) -> torch.Tensor:
    """The tensor as float16, unless a value would become infinite: the variances of a batch norm may be that large."""
    half = value.half() if value.is_floating_point() else value
    return half if half.isfinite().all() else value


def save_average(paths: Sequence[Path], output: Path, shares: Sequence[float] = ()) -> None:
    """Write the mean of the weights of models with the same settings; its provenance names what all were trained on.

    `shares` says how much each model counts; without them all count the same.
    """
    shares = [share / sum(shares) for share in shares] or [1 / len(paths)] * len(paths)
    network, first = load(paths[0])
    tensors = {name: shares[0] * value for name, value in network.state_dict().items()}
    origins = [first]
    for path, share in zip(paths[1:], shares[1:], strict=True):
        other, origin = load(path)
        if other.config != network.config:
            raise CheckpointError(
                f"{path} has other settings than {paths[0]}; only models of one kind have a mean"
            )
        origins.append(origin)
        for name, value in other.state_dict().items():
            tensors[name] += share * value
    network.load_state_dict(tensors)
    about = replace(
        first,
        data=tuple(sorted({name for origin in origins for name in origin.data})),
        page_hashes=tuple(sorted({page for origin in origins for page in origin.page_hashes})),
        held_out=first.held_out if all(origin.held_out == first.held_out for origin in origins) else "",
        metrics={},
        notes=f"the mean of {len(paths)} models: "
        + "; ".join(f"{share:.0%} {origin.notes}" for share, origin in zip(shares, origins, strict=True)),
    )
    save(output, network, about)


def digest(tensors: Mapping[str, torch.Tensor]) -> str:
    """The SHA-256 of all names, types, shapes and values, by which a changed byte is noticed."""
    import torch

    whole = hashlib.sha256()
    for name, value in sorted(tensors.items()):
        whole.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        plain = value.detach().cpu().contiguous().reshape(-1)
        whole.update(plain.view(torch.uint8).numpy().data)
    return whole.hexdigest()


def header(config: ModelConfig, provenance: Provenance) -> dict[str, str]:
    """The metadata of a model file, which are the same in safetensors and ONNX files."""
    stated = {**provenance.to_dict(), "version": provenance.version or drmamba.__version__}
    return {"format": FORMAT, "config": json.dumps(config.to_dict()), "provenance": json.dumps(stated)}


def load(path: Path | str) -> tuple[DRMamba, Provenance]:
    """Read a network and its provenance; every name and shape is checked, and differences are reported."""
    from drmamba.model.network import DRMamba

    path = Path(path)
    config, provenance = read_header(path)
    tensors = read_tensors(path)
    _require_plausible(config, tensors, path)
    network = DRMamba(config)
    fit(network, tensors, path)
    return network, provenance


def _require_plausible(config: ModelConfig, tensors: Mapping[str, torch.Tensor], path: Path) -> None:
    """Raise an error if the header states sizes that no tensor of the file has, before memory is taken for them."""
    stated = max(*config.decoder, config.block.width, config.detail.width, config.detail.head_width)
    largest = max((side for value in tensors.values() if value.ndim > 1 for side in value.shape), default=0)
    if stated > largest or len(config.detail.dilations) > len(tensors):
        raise CheckpointError(
            f"{path} does not fit the network: its header states a width of {stated:,} and "
            f"{len(config.detail.dilations):,} dilations, its {len(tensors)} tensors are smaller"
        )


def read_header(path: Path) -> tuple[ModelConfig, Provenance]:
    """Read config and provenance without the weights."""
    return parse_header(_metadata(path), path)


def parse_header(metadata: Mapping[str, str], path: Path) -> tuple[ModelConfig, Provenance]:
    """Config and provenance from the metadata of a model file."""
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
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError, ConfigError) as error:
        raise CheckpointError(f"{path} has unreadable metadata: {error}") from error


def completed_config(config: dict[str, Any]) -> dict[str, Any]:
    """A model's settings, completed by the values that older versions implied but did not write."""
    return {**config, "block": {**BEFORE_BALANCE, **config.get("block", {})}}


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Every tensor of a safetensors file."""
    if not path.is_file():
        raise CheckpointError(f"there is no model file {path}")
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            values = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            stated = (file.metadata() or {}).get("digest")  # Earlier versions and other programs state none.
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is not a readable safetensors file: {error}") from error
    if stated is not None and stated != digest(values):
        raise CheckpointError(
            f"{path} is damaged: its weights are not those that were written; copy it again"
        )
    return values


def fit(network: torch.nn.Module, tensors: dict[str, torch.Tensor], path: Path | str) -> None:
    """Load the tensors into the network, or raise an error that names those that do not fit."""
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


def embedded(name: str, ending: str = ".safetensors") -> Path | None:
    """The file of that model that ships inside the package, or None if there is none."""
    path = WEIGHTS / f"{name}{ending}"
    return path if path.is_file() else None


def _metadata(path: Path) -> dict[str, str]:
    """The metadata of a safetensors file, whose header is a number of bytes and so many bytes of JSON."""
    if not path.is_file():
        raise CheckpointError(f"there is no model file {path}")
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > path.stat().st_size:
                raise ValueError("its header is longer than the file")
            found = json.loads(file.read(length)).get("__metadata__", {})
            return {str(name): str(value) for name, value in found.items()}
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{path} is not a readable safetensors file: {error}") from error
