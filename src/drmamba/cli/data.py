"""`drmamba data`: check, import, preview and synthesize training pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from drmamba.cli.options import RenamedOption
from drmamba.config import DEFAULT_MODEL, PAGE_KINDS, PRESETS, SyntheticConfig, recipe

if TYPE_CHECKING:
    from PIL import Image

FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
SYNTHETIC = SyntheticConfig()
SEED = click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="The number that decides all random choices.",
)


@click.group()
def command() -> None:
    """Check, import, preview and synthesize training pages."""


@command.command()
@click.argument("root", type=FOLDER)
def check(root: Path) -> None:
    """Count the pairs of each year in ROOT and report everything that is wrong with them.

    ROOT holds <year>/img and <year>/gt, or the unpacked archives of the contests. The exit code is 1 if
    something is wrong.
    """
    from drmamba.data.check import check as look
    from drmamba.data.dibco import CONTEST_PAGES

    findings = look(root)
    for year, count in findings.years.items():
        click.echo(f"{year}\t{count}")
    click.echo(f"total\t{sum(findings.years.values())}")
    for year, count in findings.years.items():
        if count < CONTEST_PAGES.get(year, 0):
            click.echo(f"{year}: {count} of the contest's {CONTEST_PAGES[year]} pages are here", err=True)
    for problem in findings.problems:
        click.echo(f"wrong: {problem}", err=True)
    if findings.problems:
        click.echo(f"{len(findings.problems)} of these pairs cannot be used as they are", err=True)
        sys.exit(1)


@command.command("import")
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The data root to fill.")
@click.option("--year", help="The year of pages whose folder or archive does not name it, such as 2014.")
@click.option("--overwrite", is_flag=True, help="Write pairs again that exist already.")
def import_(sources: tuple[Path, ...], output: Path, year: str | None, overwrite: bool) -> None:
    """Copy the pages of the contests' archives or folders to OUTPUT/<year>/{img,gt}.

    SOURCES are ZIP, RAR or 7z files as published, or folders that hold them, packed or unpacked. Pages are
    copied unchanged; ground truths become 1-bit PNG with black ink.
    """
    from drmamba.data.importing import import_pairs

    done = import_pairs(sources, output, year=year, overwrite=overwrite)
    for remark in done.remarks:
        click.echo(remark, err=True)
    years = sorted({pair.year for pair in (*done.written, *done.kept)})
    for name in years:
        new, old = (sum(pair.year == name for pair in pairs) for pairs in (done.written, done.kept))
        click.echo(f"{name}\t{new + old}\t({new} written, {old} there already)")


@command.command()
@click.option("--data", type=FOLDER, help="Use pages of this data root; without it they are synthetic.")
@click.option("--textures", type=FOLDER, help="Use images of blank paper from this folder.")
@click.option(
    "--finished", is_flag=True, help="Show finished training crops instead of one degradation per row."
)
@click.option("--synthetic", is_flag=True, help="Use synthetic pages even if --data is given.")
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    default=DEFAULT_MODEL,
    show_default=True,
    help="The preset whose training recipe is shown.",
)
@click.option(
    "--crop",
    type=click.IntRange(32, 2048),
    default=256,
    show_default=True,
    help="The side of a crop in pixels.",
)
@click.option(
    "--columns",
    type=click.IntRange(1, 12),
    default=4,
    show_default=True,
    help="How many examples a row shows.",
)
@SEED
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="The image file to write."
)
def preview(
    data: Path | None,
    textures: Path | None,
    finished: bool,
    synthetic: bool,
    preset: str,
    crop: int,
    columns: int,
    seed: int,
    output: Path,
) -> None:
    """Draw a sheet that shows each degradation: before, after, and the ground truth."""
    from dataclasses import replace

    from drmamba.data.dibco import find_pairs
    from drmamba.data.paper_textures import PaperTextures
    from drmamba.data.pool import PagePool
    from drmamba.data.preview import crop_source, degradation_sheet, page_sheet
    from drmamba.data.synthetic import Synthesizer

    config = replace(recipe(preset).data, crop=crop)
    papers = PaperTextures(textures)
    stock: PagePool | Synthesizer
    if data and not synthetic:
        stock = PagePool(find_pairs(data), config, papers)
    else:
        stock = Synthesizer(config.synthetic, papers)
    draw = crop_source(stock, config, finished=finished)
    if finished:
        sheet = page_sheet(draw, seed=seed, count=6 * columns, columns=columns)
    else:
        sheet = degradation_sheet(draw, stock, seed=seed, columns=columns)
    _save(sheet, output)
    click.echo(f"{output}: {sheet.width} x {sheet.height} pixels", err=True)


@command.command()
@click.option(
    "--count", type=click.IntRange(1), default=10, show_default=True, help="How many pages are made."
)
@click.option(
    "--width", type=click.IntRange(32, 8192), default=1200, show_default=True, help="The width in pixels."
)
@click.option(
    "--height", type=click.IntRange(32, 8192), default=800, show_default=True, help="The height in pixels."
)
@click.option(
    "--kind",
    type=click.Choice(PAGE_KINDS),
    cls=RenamedOption,
    older="--world",
    help="Make only this kind of page. [default: all kinds]",
)
@click.option("--textures", type=FOLDER, help="Use images of blank paper from this folder.")
@click.option("--fonts", type=FOLDER, help="Use the fonts in this folder instead of the system's.")
@SEED
@click.option(
    "--quality", type=click.IntRange(1, 100), help="Write the pages as JPEG of this quality instead of PNG."
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder in which img and gt are made.",
)
def synthesize(
    count: int,
    width: int,
    height: int,
    kind: str | None,
    textures: Path | None,
    fonts: Path | None,
    seed: int,
    quality: int | None,
    output: Path,
) -> None:
    """Make degraded pages with their exact ground truth in OUTPUT/img and OUTPUT/gt."""
    from dataclasses import replace

    import numpy as np
    from tqdm import tqdm

    from drmamba.data.paper_textures import PaperTextures
    from drmamba.data.preview import pixels
    from drmamba.data.synthetic import Synthesizer
    from drmamba.images import write_ink

    config = replace(SYNTHETIC, fonts=str(fonts) if fonts else None)
    maker = Synthesizer(config, PaperTextures(textures))
    for number in tqdm(range(count), unit="page", disable=None):
        page = maker.page(np.random.default_rng((seed, number)), (height, width), kind, whole=True)  # type: ignore[arg-type]
        name = f"{kind or 'page'}-{seed}-{number:04d}"
        _save(pixels(page.image), output / "img" / f"{name}.{'jpg' if quality else 'png'}", quality)
        (output / "gt").mkdir(parents=True, exist_ok=True)
        write_ink(output / "gt" / f"{name}.png", page.ink)
    click.echo(f"{count} {'page' if count == 1 else 'pages'} in {output}", err=True)


def _save(image: Image.Image, path: Path, quality: int | None = None) -> None:
    """Write an image file as a whole or not at all."""
    import io

    from drmamba.errors import ImageError
    from drmamba.files import write_atomic

    kind = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".tif": "TIFF", ".webp": "WEBP"}.get(
        path.suffix.lower()
    )
    if kind is None:
        raise ImageError(f"{path}: an image file must end in .png, .jpg, .tif or .webp")
    file = io.BytesIO()
    image.save(file, kind, **({"quality": quality} if quality else {}))
    write_atomic(path, file.getvalue())
