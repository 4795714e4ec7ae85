"""What becomes of a picture in a black-and-white page: dots, black and white areas, nothing, or a grey layer."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator

import numpy as np
from PIL import Image

from drmamba.config import Pictures
from drmamba.images import GreyLayer, Ink, PageSource
from drmamba.inference.analysis.filters import Mask
from drmamba.inference.analysis.strokes import Grey
from drmamba.inference.pictures.finding import Picture

BAND_ROWS = 512  # rows; a picture is rendered so many at a time, so that its size does not matter
BLACK_POINT, WHITE_POINT = 1, 99  # percentiles of a picture's grey levels that become black and white
SAMPLES = 64  # rows of a picture on which these are measured
MAX_LAYER_PIXELS = 12_000_000  # pixels; a larger grey layer is reduced
JPEG_QUALITY = 80  # of 100


def render(
    source: PageSource, picture: Picture, style: Pictures, *, inverted: bool
) -> Iterator[tuple[int, Mask, Ink]]:
    """Yield the top of a band of rows, which pixels belong to the picture, and which of those are ink.

    Columns begin at the picture's left. Errors are diffused within each band, as Floyd and Steinberg do it.
    """
    low, high = _tones(source, picture, inverted=inverted)
    scale = 255 / max(1.0, high - low)
    middle = (low + high) / 2
    for top in range(picture.top, picture.bottom, BAND_ROWS):
        bottom = min(top + BAND_ROWS, picture.bottom)
        mask = picture.mask(top, bottom)
        if style in ("white", "grey"):
            yield top, mask, np.zeros_like(mask)
            continue
        grey = _grey(source, picture, top, bottom, inverted=inverted)
        if style == "threshold":
            yield top, mask, mask & (grey < middle)
            continue
        spread = np.clip((grey - low) * scale, 0, 255).astype(np.uint8)
        dots = np.asarray(Image.fromarray(spread).convert("1"))
        yield top, mask, mask & ~dots


def grey_layers(
    source: PageSource, pictures: tuple[Picture, ...], *, inverted: bool
) -> tuple[GreyLayer, ...]:
    """Return the pictures as JPEG files for a PDF page; around a picture that is no box its layer is white."""
    layers = []
    for picture in pictures:
        width, height = picture.right - picture.left, picture.bottom - picture.top
        factor = max(1, math.ceil(math.sqrt(width * height / MAX_LAYER_PIXELS)))
        step = BAND_ROWS * factor
        parts = []
        for top in range(picture.top, picture.bottom, step):
            bottom = min(top + step, picture.bottom)
            grey = _grey(source, picture, top, bottom, inverted=inverted)
            shown = np.where(picture.mask(top, bottom), grey, 255).astype(np.uint8)
            parts.append(np.asarray(Image.fromarray(shown).reduce(factor)))
        buffer = io.BytesIO()
        Image.fromarray(np.concatenate(parts)).save(buffer, "JPEG", quality=JPEG_QUALITY)
        rows, columns = sum(map(len, parts)), parts[0].shape[1]
        layers.append(GreyLayer(picture.box, columns, rows, buffer.getvalue()))
    return tuple(layers)


def _grey(source: PageSource, picture: Picture, top: int, bottom: int, *, inverted: bool) -> Grey:
    band = np.ascontiguousarray(source.rows(top, bottom)[:, picture.left : picture.right])
    grey = np.asarray(Image.fromarray(band).convert("L"))
    return 255 - grey if inverted else grey


def _tones(source: PageSource, picture: Picture, *, inverted: bool) -> tuple[float, float]:
    """Return the grey levels of a picture that become black and white."""
    rows = np.unique(np.linspace(picture.top, picture.bottom - 1, SAMPLES).astype(int))
    lines = [_grey(source, picture, row, row + 1, inverted=inverted) for row in rows]
    low, high = np.percentile(np.concatenate(lines), [BLACK_POINT, WHITE_POINT])
    return float(low), float(high)
