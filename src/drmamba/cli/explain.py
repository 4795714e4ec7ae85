"""`drmamba explain`: one page, and why it came out as it did."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from drmamba.cli.network import loaded
from drmamba.config import EngineConfig, InferenceConfig, Keep, ReadingConfig, replace_values

DEFAULT, ENGINE, READING = InferenceConfig(), EngineConfig(), ReadingConfig()


@click.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False),
    help="The figure: PNG, PDF, SVG, JPEG or WebP, by its ending.",
)  # fmt: skip
@click.option("--truth", type=click.Path(path_type=Path), help="A ground truth to show the difference to.")
@click.option(
    "--maps", "folder", type=click.Path(path_type=Path, file_okay=False),
    help="Also write every map there: NAME.D.png ... with 16 bits, and all as they are in NAME.npz.",
)  # fmt: skip
@click.option("--page", "number", type=click.IntRange(min=1), default=1, show_default=True,
              help="Of a PDF or multi-page TIFF.")  # fmt: skip
@click.option("--model", default="lite", show_default=True, help="A preset's name or a model file.")
@click.option("--threshold", type=float, default=DEFAULT.threshold, show_default=True,
              help="Of the probability, above which is ink.")  # fmt: skip
@click.option("--suppress", type=float, default=DEFAULT.suppress, show_default=True,
              help="Strength of the background's suppression: 0 none, 1 the model's own.")  # fmt: skip
@click.option("--keep", type=click.Choice(get_args(Keep)), default=DEFAULT.keep, show_default=True,
              help="Which marks stay: text keeps writing alone, all keeps rules, frames, stamps and drawings as "
              "well. The model must have learned both.")  # fmt: skip
@click.option("--context/--no-context", default=DEFAULT.context, show_default=True,
              help="Show the network the whole page, reduced, beside each window.")  # fmt: skip
@click.option("--device", default=ENGINE.device, show_default=True, help="auto, cpu, cuda, cuda:1, ...")
@click.option("--max-pixels", type=int, default=READING.max_pixels, show_default=True,
              help="A page that declares more is refused before it is decoded.")  # fmt: skip
def command(
    image: Path,
    output: Path,
    truth: Path | None,
    folder: Path | None,
    number: int,
    model: str,
    threshold: float,
    suppress: float,
    keep: str,
    context: bool,
    device: str,
    max_pixels: int,
) -> None:
    """Draw what the network saw: detail, background, the gate between them, and what was taken away."""
    config = replace_values(
        DEFAULT, {"threshold": threshold, "suppress": suppress, "keep": keep, "context": context}
    )
    reading = ReadingConfig(max_pixels=max_pixels)

    from drmamba.cli.remedies import remedy
    from drmamba.errors import ImageError, InputError, PixelLimitError
    from drmamba.files import write_atomic
    from drmamba.images import ArraySource, open_pages, read_ink
    from drmamba.inference.explain.figure import check_suffix, draw, write_maps

    check_suffix(output.suffix)  # before the work
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
    with loaded(model, EngineConfig(device=device), config, explain=True) as binarizer:
        result = binarizer(found)
    knobs = f"threshold {threshold:g}, suppression {suppress:g}"
    title = (
        f"{image.name}  ·  {found.width} x {found.height}  ·  model {binarizer.provenance.preset}, {knobs}"
    )
    write_atomic(output, draw(found.array, result, title=title, truth=ink, suffix=output.suffix))
    click.echo(f"drmamba: wrote {output}", err=True)
    if folder is not None:
        written = write_maps(folder, image.stem, result)
        click.echo(f"drmamba: wrote {len(written)} files to {folder}", err=True)
