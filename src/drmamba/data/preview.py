"""A sheet that shows every degradation beside the page it began with and the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from drmamba.config import DataConfig
from drmamba.data.degrade import DEGRADATIONS, Degradation, Stock, degrade
from drmamba.data.page import Page
from drmamba.data.pool import PagePool
from drmamba.data.synthetic import Synthesizer

GAP, HEADING = 6, 22


def crop_source(
    stock: PagePool | Synthesizer, config: DataConfig, *, finished: bool
) -> Callable[[np.random.Generator], Page]:
    """A function that draws crops of real or synthetic pages, as they are or degraded for training."""
    if isinstance(stock, Synthesizer):
        make = stock.page if finished else stock.clean
        return lambda rng: make(rng, (config.crop, config.crop))
    if finished:
        return lambda rng: degrade(stock.crop(rng)[0], rng, config.degrade, stock)
    return lambda rng: stock.crop(rng)[0]


def degradation_sheet(
    draw: Callable[[np.random.Generator], Page], stock: Stock, *, seed: int = 0, columns: int = 4
) -> Image.Image:
    """Rows of degradations, each on fresh crops: before, after, and the ink that counts."""
    rows = [_row(name, apply, draw, stock, seed, columns) for name, apply in DEGRADATIONS.items()]
    return stacked(rows)


def page_sheet(
    draw: Callable[[np.random.Generator], Page], *, seed: int = 0, count: int = 24, columns: int = 4
) -> Image.Image:
    """Finished crops, each beside its ink, `columns` pairs in a row."""
    pages = [draw(np.random.default_rng((seed, i))) for i in range(count)]
    tiles = [beside([pixels(p.image), pixels(p.ink)]) for p in pages]
    return stacked([beside(tiles[i : i + columns]) for i in range(0, count, columns)])


def _row(
    name: str,
    apply: Degradation,
    draw: Callable[[np.random.Generator], Page],
    stock: Stock,
    seed: int,
    columns: int,
) -> Image.Image:
    tiles = []
    for column in range(columns):
        rng = np.random.default_rng((seed, column, *name.encode()))
        before = draw(rng)
        after = apply(before, rng, stock)
        tiles.append(beside([pixels(before.image), pixels(after.image), pixels(after.ink)]))
    return titled(name.replace("_", " "), beside(tiles))


def pixels(values: NDArray[Any]) -> Image.Image:
    """A picture of RGB in [0, 1], or of ink, black on white."""
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
