"""`drmamba info`: what a model is, costs and comes from."""

from __future__ import annotations

import json
from typing import Any

import click


@click.command()
@click.option("--model", default="lite", show_default=True, help="A preset's name or a weights file.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def command(model: str, as_json: bool) -> None:
    """Print parameters, GFLOPs at 512 x 512, scan backend, size, sha256 and training data of a model."""
    facts = describe(model)
    if as_json:
        click.echo(json.dumps(facts))
        return
    for name, value in in_words(facts).items():
        for line in lines(name, value):
            click.echo(line)


def in_words(facts: dict[str, Any]) -> dict[str, Any]:
    """The same facts, with what a number or an empty list stands for said in words."""
    reduction = facts["context"]
    seen = f"the whole page, {reduction} times reduced, beside each window" if reduction else "windows alone"
    return {**facts, "context": seen, "conventions": facts["conventions"] or "contest only (--keep text)"}


def lines(name: str, value: Any, indent: str = "") -> list[str]:
    """A fact on one line; one that holds further ones on a line each, below its name."""
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
    """The facts of a preset or a weights file, as plain values."""
    from pathlib import Path

    from drmamba.inference.models import require_torch

    require_torch("drmamba info")

    import torch

    from drmamba import __version__, checkpoint
    from drmamba.config import PRESETS, preset
    from drmamba.files import sha256
    from drmamba.inference.models import read_header
    from drmamba.model.cost import gflops, parameters
    from drmamba.ops import available, choose_backend

    path = checkpoint.embedded(model) if model in PRESETS else Path(model)
    config, origin = read_header(path) if path else (preset(model), checkpoint.Provenance(preset=model))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return {
        "model": model,
        "version": __version__,
        "preset": origin.preset,
        "encoder": config.encoder,
        "context": config.context,
        "conventions": list(config.conventions),
        "parameters": parameters(config),
        "gflops_512": round(gflops(config), 2),
        "trained": origin.trained,
        "trained_on": list(origin.data),
        "held_out": origin.held_out,
        "date": origin.date,
        "metrics": origin.metrics,
        "notes": origin.notes,
        "file": str(path) if path else None,
        "bytes": path.stat().st_size if path else None,
        "sha256": sha256(path) if path else None,
        "device": str(device),
        "threads": torch.get_num_threads(),
        "scan_backend": choose_backend("auto", device),
        "scan_backends": available(),
        "config": config.to_dict(),
    }
