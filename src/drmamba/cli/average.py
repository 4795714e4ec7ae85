"""`drmamba average`: the mean of several models' weights."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", type=click.Path(path_type=Path))
@click.option(
    "--weights",
    metavar="NUMBERS",
    help="How much each model counts, such as 0.65,0.35. [default: all count the same]",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The .safetensors file to write.",
)
def command(models: tuple[Path, ...], weights: str | None, output: Path) -> None:
    """Write the mean of the weights of several .safetensors models.

    The models must have the same settings and a common ancestor: runs with different seeds that started from one model.
    Two such runs, one a core, and their mean train a model on two cores faster than one run that uses both.
    """
    from drmamba.checkpoint import save_average
    from drmamba.errors import ConfigError

    if len(models) < 2:
        raise ConfigError(f"{models[0]} is one model; give two or more to average")
    if output.suffix != ".safetensors":
        raise ConfigError(f"{output} must end in .safetensors, by which the program recognizes such a model")
    save_average(models, output, _shares(weights, len(models)) if weights else ())
    click.echo(f"drmamba: wrote {output}, the mean of {len(models)} models", err=True)


def _shares(text: str, count: int) -> list[float]:
    """Return one positive number for each model."""
    from drmamba.errors import ConfigError

    try:
        shares = [float(word) for word in text.split(",")]
    except ValueError:
        shares = []
    if len(shares) != count or not all(0 < share < float("inf") for share in shares):
        raise ConfigError(f"--weights takes one positive number for each of the {count} models; got {text!r}")
    return shares
