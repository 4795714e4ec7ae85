"""Pages at another size, band by band, and their probabilities back at the page's own."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from PIL import Image

from drmamba.images import RGB, PageSource
from drmamba.inference.strokes import Strokes
from drmamba.inference.tiling import Band

# Stroke widths, in pixels, outside which a page is brought to where the network sees well: FINE from below, BROAD
# from above. benchmarks/resolution.py measures what that gives; docs/binarize.md has the figures.
NARROWEST, FINE, BROAD, WIDEST = 3.0, 5.0, 8.0, 11.0
LARGEST_ZOOM = 3.0
LARGEST_PAGE = 16_000_000  # pixels that enlarging may lead to: what is fine and large costs too much time
RESAMPLING = Image.Resampling.BICUBIC
REACH = 3  # source pixels a resampled one may look at beyond its own place, at scale 1


def fitting_scale(strokes: Strokes | None, rows: PageSource) -> float:
    """The scale that brings a page's strokes to a good width; 1 unless they are far off."""
    if strokes is None or NARROWEST <= strokes.width <= WIDEST:
        return 1.0
    if strokes.width > WIDEST:
        return BROAD / strokes.width
    return min(FINE / strokes.width, largest_zoom(rows.height, rows.width))


def largest_zoom(height: int, width: int) -> float:
    """How far a page of this size may be enlarged."""
    return max(1.0, min(LARGEST_ZOOM, math.sqrt(LARGEST_PAGE / (height * width))))


class ScaledRows(PageSource):
    """A page as if it had been scanned at another resolution."""

    def __init__(self, rows: PageSource, scale: float) -> None:
        self._rows = rows
        self.height, self.width = (max(1, round(side * scale)) for side in (rows.height, rows.width))
        self._step = rows.height / self.height  # source rows a scaled row spans

    def rows(self, top: int, bottom: int) -> RGB:
        """Resampled from the source rows around them: the same values as from the whole page."""
        low, high = top * self._step, bottom * self._step
        reach = REACH * max(1.0, self._step)
        first, last = max(0, math.floor(low - reach)), min(self._rows.height, math.ceil(high + reach))
        band = Image.fromarray(self._rows.rows(first, last))
        box = (0, low - first, self._rows.width, min(high - first, last - first))
        return np.asarray(band.resize((self.width, bottom - top), RESAMPLING, box))


class InvertedRows(PageSource):
    """A white-on-black page turned round."""

    def __init__(self, rows: PageSource) -> None:
        self._rows = rows
        self.height, self.width, self.dpi = rows.height, rows.width, rows.dpi

    def rows(self, top: int, bottom: int) -> RGB:
        """The rows' negative."""
        return ~self._rows.rows(top, bottom)


def restored(bands: Iterator[Band], scaled_height: int, height: int, width: int) -> Iterator[Band]:
    """Bands of a scaled page at the size of the original."""
    step = scaled_height / height  # scaled rows an original row spans
    reach = REACH * max(1.0, step)
    held, first, done = None, 0, 0
    for band in bands:
        held = band.probability if held is None else np.concatenate([held, band.probability])
        end = first + len(held)
        ready = height if end == scaled_height else max(done, math.floor((end - reach) / step))
        if ready == done:
            continue
        box = (0, done * step - first, held.shape[1], min(ready * step - first, len(held)))
        image = Image.fromarray(held).resize((width, ready - done), Image.Resampling.BILINEAR, box)
        yield Band(done, np.asarray(image))
        done = ready
        drop = max(0, math.floor(done * step - reach) - first)
        held, first = held[drop:], first + drop
