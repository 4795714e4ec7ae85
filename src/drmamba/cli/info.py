"""`drmamba info`: the size, cost and provenance of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drmamba.cli.options import model_option

if TYPE_CHECKING:
    from drmamba.config import ModelConfig


@click.command()
@model_option()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines to read.")
def command(model: str, as_json: bool) -> None:
    """Print a model's parameters, GFLOPs at 512 x 512, file size, sha256 and training data, and what runs it here."""
    facts = describe(model)
    if as_json:
        click.echo(json.dumps(facts))
        return
    for name, value in in_words(facts).items():
        for line in lines(name, value):
            click.echo(line)


def in_words(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts with words in place of a number or an empty list that needs explaining."""
    reduction = facts["context"]
    seen = f"the whole page, {reduction} times reduced, beside each window" if reduction else "windows alone"
    return {**facts, "context": seen, "conventions": facts["conventions"] or "contest only (--keep text)"}


def lines(name: str, value: Any, indent: str = "") -> list[str]:
    """Return a fact as one line; a fact that holds others has a line for each of them below its name."""
    if isinstance(value, dict) and any(isinstance(inner, dict) for inner in value.values()):
        plain = {k: v for k, v in value.items() if not isinstance(v, dict)}
        below = [line for k, v in value.items() if isinstance(v, dict) for line in lines(k, v, indent + "  ")]
        return [*lines(name, plain, indent), *below]
    return [f"{indent + name:<18} {_plain(value)}".rstrip()]


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}: {_plain(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value)) or "-"
    if isinstance(value, float):
        return f"{value:.2f}"
    return "-" if value in (None, "") else str(value)


def describe(model: str) -> dict[str, Any]:
    """Return the facts about a model as plain values; torch is asked only where it would run the model."""
    from drmamba import __version__
    from drmamba.checkpoint import Provenance
    from drmamba.config import preset
    from drmamba.files import sha256
    from drmamba.inference.models import EXPORTED, find_model, read_header

    path = find_model(model)
    config, origin = read_header(path) if path else (preset(model), Provenance(preset=model))
    exported = path is not None and path.suffix == EXPORTED
    return {
        "model": model,
        "version": __version__,
        "preset": origin.preset,
        "encoder": config.encoder,
        "context": config.context,
        "conventions": list(config.conventions),
        "trained": origin.trained,
        "trained_on": list(origin.data),
        "held_out": origin.held_out,
        "date": origin.date,
        "metrics": origin.metrics,
        "notes": origin.notes,
        "file": str(path) if path else None,
        "bytes": path.stat().st_size if path else None,
        "sha256": sha256(path) if path else None,
        **(_on_onnx_runtime(path) if path and exported else _on_torch(config)),
        "config": config.to_dict(),
    }


def _on_onnx_runtime(path: Path) -> dict[str, Any]:
    """Return what ONNX Runtime and the exported file itself say."""
    from drmamba.config import EngineConfig
    from drmamba.inference.runtime.onnx import OnnxRuntime, library

    runtime = OnnxRuntime(path, EngineConfig())
    return {
        "made_from_sha256": runtime.weights_sha256,
        "parameters": runtime.parameters,
        "gflops_512": runtime.gflops,
        "runtime": f"ONNX Runtime {library().__version__}",
        "providers": library().get_available_providers(),
        "device": str(runtime.devices[0]),
        "threads": runtime.count,
        "precisions": list(runtime.precisions),
    }


def _on_torch(config: ModelConfig) -> dict[str, Any]:
    """Return what torch says about a network that it would run."""
    from drmamba.inference.models import require_torch

    require_torch("this model")

    import torch

    from drmamba.model.cost import gflops, parameters
    from drmamba.ops import available, choose_backend

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return {
        "parameters": parameters(config),
        "gflops_512": round(gflops(config), 2),
        "runtime": f"torch {torch.__version__}",
        "device": str(device),
        "threads": torch.get_num_threads(),
        "scan_backend": choose_backend("auto", device),
        "scan_backends": available(),
    }
