"""`drmamba explain`: a figure that shows why a page came out as it did."""

from __future__ import annotations

from pathlib import Path

import click

from drmamba.cli.network import load_binarizer
from drmamba.cli.options import (
    context_option,
    device_option,
    keep_option,
    max_pixels_option,
    model_option,
    suppress_option,
    threshold_option,
)
from drmamba.config import EngineConfig, InferenceConfig, ReadingConfig, replace_values


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
@click.option("--page", "number", type=click.IntRange(min=1), default=1, show_default=True,
              help="The page of a PDF or multi-page TIFF, counted from 1.")  # fmt: skip
@model_option()
@threshold_option
@suppress_option
@keep_option
@context_option
@device_option
@max_pixels_option
def command(
    image: Path,
    output: Path,
    truth: Path | None,
    folder: Path | None,
    number: int,
    model: str,
    threshold: float | None,
    suppress: float | None,
    keep: str | None,
    context: bool | None,
    device: str,
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
    from drmamba.inference.explain.figure import check_suffix, draw, write_maps

    check_suffix(output.suffix)  # A wrong ending must be reported before the work.
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
    with load_binarizer(model, EngineConfig(device=device), config, explain=True) as binarizer:
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
