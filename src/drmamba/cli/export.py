"""`drmamba export`: a model for other runtimes, or for others to use."""

from __future__ import annotations

from pathlib import Path

import click

FORMATS = {
    "onnx": ".onnx",
    "safetensors": ".safetensors",
}  # by their endings the program knows a model's kind


@click.command()
@click.option("--format", "format_", type=click.Choice(list(FORMATS)), default="onnx", show_default=True)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write.",
)
@click.option("--model", default="lite", show_default=True, help="A preset's name, a model file or a Hub id.")
@click.option(
    "--folds",
    type=click.Path(path_type=Path, dir_okay=False),
    help="safetensors: the results.json of `drmamba loo` with the same recipe, to state its scores.",
)
@click.option("--notes", default="", help="safetensors: words about the recipe, for the card.")
def command(format_: str, output: Path, model: str, folds: Path | None, notes: str) -> None:
    """Write a model as ONNX, checked against torch, which `drmamba binarize --model FILE` runs without torch;
    or as safetensors in half the size, with a model card beside it.
    """
    from drmamba.errors import CheckpointError, ConfigError
    from drmamba.inference.models import find_model, require_torch

    require_torch("drmamba export")
    if output.suffix != FORMATS[format_]:
        raise ConfigError(f"{output} must end in {FORMATS[format_]}, by which the program knows such a model")
    if format_ == "onnx":
        if folds or notes:
            raise ConfigError("--folds and --notes are for --format safetensors")
        from drmamba.integrations.onnx import export

        checked = f"; off torch by at most {export(model, output):.1g}"
    else:
        from drmamba.integrations.release import release

        path = find_model(model)
        if path is None:
            raise CheckpointError(f"there are no weights of {model!r} to export; give a trained model file")
        release(path, output, folds=folds, notes=notes)
        checked = f", and its card {output.with_suffix('.md')}"
    size = output.stat().st_size / 1e6
    click.echo(f"drmamba: wrote {output}, {size:.1f} MB{checked}", err=True)
