"""`drmamba export`: a model file for other runtimes, or for publication."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from drmamba.cli.options import model_option
from drmamba.config import ExportPrecision

# The ending tells the program the format of a model.
FORMATS = {"onnx": ".onnx", "safetensors": ".safetensors"}


@click.command()
@click.option(
    "--format",
    "format_",
    type=click.Choice(list(FORMATS)),
    default="onnx",
    show_default=True,
    help="The format of the file.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write.",
)
@model_option()
@click.option(
    "--precision",
    type=click.Choice(get_args(ExportPrecision)),
    default="float32",
    show_default=True,
    help="With onnx: the number format of the full-resolution part. int8 is calibrated on synthetic pages.",
)
@click.option(
    "--folds",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With safetensors: state the scores in this results.json of `drmamba loo` with the same recipe, or in the "
    "kept_out_years.json of a run that kept years out.",
)
@click.option(
    "--collections",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With safetensors: state the scores in this report by `drmamba benchmark --json` of the same model on "
    "collections that it was not trained on.",
)
@click.option(
    "--usage",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With safetensors: state what each part of the network contributes, from what `benchmarks/usage.py --json` "
    "printed of one model of the recipe.",
)
@click.option(
    "--notes", default="", help="With safetensors: add this remark about the recipe to the model card."
)
def command(
    format_: str,
    output: Path,
    model: str,
    precision: ExportPrecision,
    folds: Path | None,
    collections: Path | None,
    usage: Path | None,
    notes: str,
) -> None:
    """Write a model as ONNX, which runs without torch, or for publication.

    With safetensors, the weights are written at half the size, and beside them their export to ONNX and a model card:
    all that the package or a repository on the Hub holds of a model. An ONNX file is compared with torch before it is
    written; run it with `drmamba binarize --model FILE`.
    """
    from drmamba.config import EngineConfig
    from drmamba.errors import CheckpointError, ConfigError
    from drmamba.inference.models import find_model, require_torch

    require_torch("drmamba export")
    if output.suffix != FORMATS[format_]:
        raise ConfigError(
            f"{output} must end in {FORMATS[format_]}, by which the program recognizes such a model"
        )
    if format_ == "onnx":
        if folds or collections or usage or notes:
            raise ConfigError("--folds, --collections, --usage and --notes are for --format safetensors")
        from drmamba.integrations.onnx import export

        difference = export(model, output, precision)
        checked = f"; off torch by {'at most' if precision == 'float32' else 'a mean of'} {difference:.1g}"
    else:
        if precision != "float32":
            raise ConfigError(
                "--precision is for --format onnx; the weights themselves are exported in float32"
            )
        from drmamba.integrations.release import release

        path = find_model(model, EngineConfig(runtime="torch"))
        if path is None:
            raise CheckpointError(f"there are no weights of {model!r} to export; give a trained model file")
        release(path, output, folds=folds, collections=collections, usage=usage, notes=notes)
        checked = ", and beside it its export to ONNX and its card"
    size = output.stat().st_size / 1e6
    click.echo(f"drmamba: wrote {output}, {size:.1f} MB{checked}", err=True)
