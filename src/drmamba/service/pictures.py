"""Pictures of a page for people: the scan, a thumbnail of the result, and the network's maps in colour."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.images import RGB, PageSource, encode, encode_grey
from drmamba.inference.explain import Explanation, Exploration, Map
from drmamba.inference.tiling import to_grey

MAP_SIDE = 1600  # pixels; the longest side of a map, which is smooth anyway
SCAN_SIDE = 12_000  # pixels; the longest side of a scan's picture, which every browser shows
SCAN_QUALITY = 90  # of JPEG
BAND_ROWS = 512  # rows that are read at once
THUMBNAIL_SIDE = 160  # pixels
RIM = 24  # pixels at the border, where the routes have only begun and the maps say little
# Anchors of the colour map viridis; the legend of the web page shows the same colours.
VIRIDIS = ((68, 1, 84), (72, 40, 120), (62, 73, 137), (49, 104, 142), (38, 130, 142), (31, 158, 137),
           (53, 183, 121), (110, 206, 88), (181, 222, 43), (253, 231, 37))  # fmt: skip
MAPS: dict[str, Callable[[Explanation], Map]] = {
    "detail": lambda why: why.D,
    "background": lambda why: why.B,
    "gate": lambda why: why.beta,
    "removed": lambda why: why.taken,
}
LAYERS = ("result", "probability", *MAPS)


@dataclass(frozen=True)
class LayerPicture:
    """A picture of a layer; a map has the values of its first and last colour."""

    data: bytes
    low: float | None = None
    high: float | None = None


def scan_picture(source: PageSource, most_bytes: int) -> bytes:
    """Return a JPEG of the scan at its full size, or reduced by a whole factor if it would take too much memory."""
    pixels = source.height * source.width
    factor = max(1, -(-max(source.height, source.width) // SCAN_SIDE))
    while 3 * pixels // factor**2 > most_bytes:
        factor += 1
    shape = (-(-source.height // factor), -(-source.width // factor), 3)
    picture = np.empty(shape, np.uint8)
    rows = max(1, BAND_ROWS // factor) * factor
    for top in range(0, source.height, rows):
        band = source.rows(top, min(top + rows, source.height))
        if factor > 1:
            band = np.asarray(Image.fromarray(band).reduce(factor))
        picture[top // factor : top // factor + len(band)] = band
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=SCAN_QUALITY)
    return buffer.getvalue()


def thumbnail(result: Path) -> bytes:
    """Return a small PNG of a result that this service has written."""
    with Image.open(result) as image:
        factor = max(1, max(image.size) // (2 * THUMBNAIL_SIDE))
        small = image.convert("L").reduce(factor)
    small.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE))
    buffer = io.BytesIO()
    small.save(buffer, "PNG")
    return buffer.getvalue()


def layer_picture(exploration: Exploration, layer: str) -> LayerPicture:
    """Return one of the LAYERS as a PNG: results and probabilities at the page's size, maps over the page."""
    page, rows = exploration.page, exploration.rows
    if layer == "result":
        return LayerPicture(encode([page.bitmap], ".png"))
    if layer == "probability":
        return LayerPicture(encode_grey(to_grey(page.probability), page.dpi), 0.0, 1.0)
    values = MAPS[layer](exploration.explanation())
    factor = -(-max(rows.height, rows.width) // MAP_SIDE)
    scan = np.asarray(Image.fromarray(rows.rows(0, rows.height)).reduce(factor))
    small = np.asarray(Image.fromarray(values).resize(scan.shape[1::-1], Image.Resampling.BOX))
    low, high = colour_range(small)
    buffer = io.BytesIO()
    Image.fromarray(overlay(scan, small, low, high)).save(buffer, "PNG", compress_level=3)
    return LayerPicture(buffer.getvalue(), low, high)


def colour_range(values: Map) -> tuple[float, float]:
    """Return the values that get the first and the last colour; outliers and the border do not count."""
    rim = [min(RIM, side // 4) for side in values.shape]
    inner = values[rim[0] : values.shape[0] - rim[0], rim[1] : values.shape[1] - rim[1]]
    low, high = np.percentile(inner, (1, 99))
    return float(low), float(high)


def overlay(page: RGB, values: Map, low: float, high: float) -> RGB:
    """Return a map in colours, through which the page is visible."""
    level = np.clip((values - low) / max(high - low, 1e-9), 0, 1)
    brightness = page.mean(axis=2, keepdims=True) / 255
    shaded: RGB = np.rint(coloured(level) * (0.45 + 0.55 * brightness)).astype(np.uint8)
    return shaded


def coloured(level: Map) -> NDArray[np.float64]:
    """Return the colours of values from 0 to 1, (H, W, 3)."""
    anchors, places = np.array(VIRIDIS, np.float64), np.linspace(0, 1, len(VIRIDIS))
    return np.stack([np.interp(level, places, anchors[:, channel]) for channel in range(3)], axis=2)
