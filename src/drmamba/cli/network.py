"""The network of a command: it gets as many workers as the memory allows, and a warning if it is untrained."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from drmamba.config import EngineConfig, InferenceConfig

if TYPE_CHECKING:
    from drmamba.checkpoint import Provenance
    from drmamba.inference.binarizer import Binarizer


def load_binarizer(
    model: str, engine: EngineConfig, config: InferenceConfig | None = None, *, explain: bool = False
) -> Binarizer:
    """Return a Binarizer for the value of --model."""
    from drmamba.inference.binarizer import Binarizer, UntrainedWarning
    from drmamba.inference.memory import fitting_workers
    from drmamba.inference.models import cpu_workers, runs_exported
    from drmamba.inference.runtime.base import Runtime
    from drmamba.inference.runtime.onnx import OnnxRuntime

    config = config or InferenceConfig()
    if not engine.workers and (cores := cpu_workers(model, engine)):
        runtime: type[Runtime] = OnnxRuntime if runs_exported(model, engine) else Runtime
        engine = replace(engine, workers=fitting_workers(cores, engine.max_memory, config, runtime))
        if engine.workers < cores:
            click.echo(f"drmamba: {engine.workers} of {cores} cores: --max-memory allows no more", err=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrainedWarning)
        binarizer = Binarizer.from_pretrained(model, config=config, engine=engine, explain=explain)
    warn_if_untrained(model, binarizer.provenance)
    return binarizer


def warn_if_untrained(model: str, provenance: Provenance) -> None:
    """Print a warning if the model is untrained."""
    from drmamba.inference.binarizer import UNTRAINED

    if not provenance.trained:
        click.secho(f"drmamba: WARNING: {UNTRAINED.format(model)}", err=True, fg="red", bold=True)
