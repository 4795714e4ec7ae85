"""`drmamba explain`: a figure that shows why a page came out as it did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from drmamba.cli.network import load_binarizer
from drmamba.cli.options import (
    context_option,
    device_option,
    keep_option,
    max_pixels_option,
    model_option,
    runtime_option,
    suppress_option,
    threshold_option,
)
from drmamba.config import EngineConfig, InferenceConfig, ReadingConfig, replace_values

if TYPE_CHECKING:
    from drmamba.images import RGB, Ink
    from drmamba.model.network import DRMamba


@click.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False),
    help="The figure to write; its ending says whether it is PNG, PDF, SVG, JPEG or WebP.",
)  # fmt: skip
@click.option("--truth", type=click.Path(path_type=Path), help="Show the difference to this ground truth.")
@click.option(
    "--maps", "folder", type=click.Path(path_type=Path, file_okay=False),
    help="Also write every map to this folder: NAME.D.png and so on with 16 bits, and exact values in NAME.npz.",
)  # fmt: skip
@click.option(
    "--usage", is_flag=True,
    help="Also print the pixels (and with --truth the FM) that change when a route, the gate or the block is replaced.",
)  # fmt: skip
@click.option("--page", "number", type=click.IntRange(min=1), default=1, show_default=True,
              help="The page of a PDF or multi-page TIFF, counted from 1.")  # fmt: skip
@model_option()
@threshold_option
@suppress_option
@keep_option
@context_option
@device_option
@runtime_option
@max_pixels_option
def command(
    image: Path,
    output: Path,
    truth: Path | None,
    folder: Path | None,
    usage: bool,
    number: int,
    model: str,
    threshold: float | None,
    suppress: float | None,
    keep: str | None,
    context: bool | None,
    device: str,
    runtime: Any,
    max_pixels: int,
) -> None:
    """Draw what the network saw: detail, background, the gate between them, and what was removed."""
    given = {"threshold": threshold, "suppress": suppress, "keep": keep, "context": context}
    config = replace_values(
        InferenceConfig(), {name: value for name, value in given.items() if value is not None}
    )
    reading = ReadingConfig(max_pixels=max_pixels)

    from drmamba.cli.remedies import remedy
    from drmamba.errors import ImageError, InputError, PixelLimitError
    from drmamba.files import write_atomic
    from drmamba.images import ArraySource, open_pages, read_ink
    from drmamba.inference.explain.figure import check_suffix, draw, require_matplotlib, write_maps

    check_suffix(output.suffix)  # A wrong ending must be reported before the work.
    require_matplotlib()
    for path in (image, truth):
        if path and path.exists() and output.exists() and path.samefile(output):
            raise InputError(f"the figure would be written over {path}; give another name with -o")
    found, pages = None, 0
    try:
        for pages, page in enumerate(open_pages(image, reading), 1):
            if pages == number:
                found = ArraySource(page.read(), page.dpi)
                break
    except PixelLimitError as error:
        raise PixelLimitError(f"{error}; {remedy(error)}", error.value, error.limit) from error
    if found is None:
        raise ImageError(f"{image} holds {pages} pages; --page {number} is not among them")
    ink = read_ink(truth) if truth else None
    # Only a network in torch can have its parts replaced.
    engine = EngineConfig(device=device, runtime="torch" if usage else runtime)
    with load_binarizer(model, engine, config, explain=True) as binarizer:
        result = binarizer(found)
    settings = f"threshold {config.threshold:g}, suppression {config.suppress:g}"
    title = (
        f"{image.name}  ·  {found.width} x {found.height}  ·  model {binarizer.provenance.preset}, {settings}"
    )
    write_atomic(output, draw(found.array, result, title=title, truth=ink, suffix=output.suffix))
    click.echo(f"drmamba: wrote {output}", err=True)
    if folder is not None:
        written = write_maps(folder, image.stem, result)
        click.echo(f"drmamba: wrote {len(written)} files to {folder}", err=True)
    if usage:
        _print_usage(model, found.array, ink, config, engine)


def _print_usage(
    model: str, image: RGB, truth: Ink | None, config: InferenceConfig, engine: EngineConfig
) -> None:
    """Print what changes on the page when a part of the block is replaced."""
    from drmamba.experiments.report import as_text, number
    from drmamba.inference.explain.usage import WHOLE, route_usage
    from drmamba.inference.models import load_model

    network = cast("DRMamba", load_model(model, engine)[0])  # `explain` has refused all others by now.
    parts = route_usage(network, [lambda: (image, truth)], config, engine)[0]
    rows = [
        [part.part, f"{part.pixels:.3f}", number(part.fm)]
        for part in parts
        if part.part != WHOLE or truth is not None
    ]
    click.echo(as_text(["replaced", "pixels changed %", "FM"], rows))
