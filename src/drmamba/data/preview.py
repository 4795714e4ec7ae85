"""Contact sheets that show every degradation beside the original page and the ground truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from drmamba.config import DataConfig
from drmamba.data.degrade import DEGRADATIONS, Degradation, MaterialSource, degrade
from drmamba.data.page import LabelledPage
from drmamba.data.pool import PagePool
from drmamba.data.synthetic import Synthesizer

GAP = 6  # pixels between two pictures
HEADING = 22  # pixels above a row, for its title


def crop_source(
    source: PagePool | Synthesizer, config: DataConfig, *, finished: bool
) -> Callable[[np.random.Generator], LabelledPage]:
    """A function that draws crops of real or synthetic pages, undegraded or degraded as in training (`finished`)."""
    shape = config.crop, config.crop
    if isinstance(source, Synthesizer):
        make = source.page if finished else source.clean
        return lambda rng: make(rng, shape)
    if finished:
        return lambda rng: degrade(source.crop(rng, shape)[0], rng, config.degrade, source)
    return lambda rng: source.crop(rng, shape)[0]


def degradation_sheet(
    draw: Callable[[np.random.Generator], LabelledPage],
    source: MaterialSource,
    *,
    seed: int = 0,
    columns: int = 4,
) -> Image.Image:
    """One row per degradation, each on new crops: before, after, and the ground truth."""
    rows = [_row(name, apply, draw, source, seed, columns) for name, apply in DEGRADATIONS.items()]
    return stacked(rows)


def page_sheet(
    draw: Callable[[np.random.Generator], LabelledPage], *, seed: int = 0, count: int = 24, columns: int = 4
) -> Image.Image:
    """Degraded crops, each beside its ground truth, `columns` pairs in a row."""
    pages = [draw(np.random.default_rng((seed, i))) for i in range(count)]
    tiles = [beside([pixels(p.image), pixels(p.ink)]) for p in pages]
    return stacked([beside(tiles[i : i + columns]) for i in range(0, count, columns)])


def _row(
    name: str,
    apply: Degradation,
    draw: Callable[[np.random.Generator], LabelledPage],
    source: MaterialSource,
    seed: int,
    columns: int,
) -> Image.Image:
    tiles = []
    for column in range(columns):
        rng = np.random.default_rng((seed, column, *name.encode()))
        before = draw(rng)
        after = apply(before, rng, source)
        tiles.append(beside([pixels(before.image), pixels(after.image), pixels(after.ink)]))
    return titled(name.replace("_", " "), beside(tiles))


def pixels(values: NDArray[Any]) -> Image.Image:
    """A Pillow image of RGB values in [0, 1], or of ink in black on white."""
    if values.dtype == np.bool_:
        return Image.fromarray(np.where(values, np.uint8(0), np.uint8(255))).convert("RGB")
    return Image.fromarray((np.clip(values, 0, 1) * 255 + 0.5).astype(np.uint8))


def beside(pictures: Sequence[Image.Image]) -> Image.Image:
    """Pictures in a row."""
    width = sum(p.width for p in pictures) + GAP * (len(pictures) - 1)
    row = Image.new("RGB", (width, max(p.height for p in pictures)), "white")
    left = 0
    for picture in pictures:
        row.paste(picture, (left, 0))
        left += picture.width + GAP
    return row


def stacked(rows: Sequence[Image.Image]) -> Image.Image:
    """Pictures below one another."""
    height = sum(r.height for r in rows) + GAP * (len(rows) - 1)
    sheet = Image.new("RGB", (max(r.width for r in rows), height), "white")
    top = 0
    for row in rows:
        sheet.paste(row, (0, top))
        top += row.height + GAP
    return sheet


def titled(words: str, picture: Image.Image) -> Image.Image:
    """A picture with words above it."""
    framed = Image.new("RGB", (picture.width, picture.height + HEADING), "white")
    framed.paste(picture, (0, HEADING))
    ImageDraw.Draw(framed).text((2, 3), words, fill="black", font=ImageFont.load_default(14))
    return framed
