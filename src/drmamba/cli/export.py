"""`drmamba export`: a model for other runtimes."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--format", "format_", type=click.Choice(["onnx"]), default="onnx", show_default=True)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write.",
)
@click.option("--model", default="lite", show_default=True, help="A preset's name, a model file or a Hub id.")
def command(format_: str, output: Path, model: str) -> None:  # noqa: ARG001  one format so far
    """Write a model as ONNX, checked against torch; `drmamba binarize --model FILE` runs it without torch."""
    from drmamba.errors import ConfigError

    if output.suffix != ".onnx":
        raise ConfigError(f"{output} must end in .onnx, by which the program knows an exported model")

    from drmamba.integrations.onnx import export

    difference = export(model, output)
    size = output.stat().st_size / 1e6
    click.echo(f"drmamba: wrote {output}, {size:.1f} MB; off torch by at most {difference:.1g}", err=True)
