"""A second look at a page where the witness and the network disagree.

What is missing is shown to the network again: wide structures at a scale at which their strokes have the usual width,
fine ones at theirs or, if that is the scale of the first look, with the windows shifted by half of one. Whatever the
network then finds there is added, in the whole of a wide structure of which a part is missing. So a title above small
print is seen at both sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from drmamba.config import InferenceConfig
from drmamba.images import RGB, PageSource
from drmamba.inference.analysis.filters import Mask
from drmamba.inference.analysis.strokes import Strokes
from drmamba.inference.tiling import Band
from drmamba.inference.view import PageView, fitting_scale
from drmamba.inference.witness import Comparison, Witness
from drmamba.inference.witness.structures import enlarged, grown, lowest

if TYPE_CHECKING:
    from drmamba.inference.binarizer import Binarizer

SURROUNDINGS = 96  # pixels; so much of the page around what is missing is seen as well
SAME_SCALE = 0.15  # of a scale; another that differs by less is the same
MAX_COST = 1.0  # of the first look; a second one may cost no more


@dataclass(frozen=True)
class Look:
    """What is to be seen again, and how."""

    missing: Mask  # on the reduced page
    view: PageView
    box: tuple[int, int, int, int]  # left, top, right, bottom on the page; it may reach beyond the page


class CroppedSource(PageSource):
    """A part of a page, which may reach beyond its edges; there, the outermost pixels are repeated."""

    def __init__(self, source: PageSource, box: tuple[int, int, int, int]) -> None:
        self._source = source
        self._left, self._top, right, bottom = box
        self.height, self.width = bottom - self._top, right - self._left
        self._columns = np.clip(np.arange(self._left, right), 0, source.width - 1)

    def rows(self, top: int, bottom: int) -> RGB:
        """Return rows of the part."""
        wanted = np.clip(np.arange(top, bottom) + self._top, 0, self._source.height - 1)
        first, last = int(wanted[0]), int(wanted[-1])
        band = self._source.rows(first, last + 1)
        return np.ascontiguousarray(band[wanted - first][:, self._columns])


def plan_looks(
    source: PageSource,
    config: InferenceConfig,
    view: PageView,
    witness: Witness,
    comparison: Comparison,
    stroke_width: float,
) -> list[Look]:
    """Return how a page is to be seen again; nothing if that would cost too much."""
    looks = []
    shape, reduction = witness.grey.shape, witness.reduction
    if comparison.wide:
        missing: Mask = np.zeros(shape, np.bool_)
        pixels = [one.pixels for one in comparison.wide]
        width = float(np.average([one.stroke_width for one in comparison.wide], weights=pixels)) * reduction
        for one in comparison.wide:
            zoom = witness.structures.levels[one.level].zoom
            missing |= grown(enlarged(one.whole, zoom, shape), 2 * zoom + 1)
        looks.append(_look(source, config, view, missing, width, reduction, stroke_width))
    if comparison.fine.any():
        fine = comparison.fine
        edge = fine & ~lowest(fine.view(np.uint8), 3).view(np.bool_)
        width = 2 * np.count_nonzero(fine) / np.count_nonzero(edge) * reduction
        looks.append(_look(source, config, view, grown(fine, 5), width, reduction, stroke_width))
    first = source.height * source.width * view.scale**2
    affordable, spent = [], 0.0
    for look in sorted(looks, key=_cost):
        spent += _cost(look)
        if spent <= MAX_COST * first:
            affordable.append(look)
    return affordable


def _look(
    source: PageSource,
    config: InferenceConfig,
    view: PageView,
    missing: Mask,
    width: float,
    reduction: int,
    stroke_width: float,
) -> Look:
    rows, columns = np.nonzero(missing.any(1))[0], np.nonzero(missing.any(0))[0]
    scale = view.scale
    if config.scale == "auto":
        scale = fitting_scale(Strokes(width, width, False), source, stroke_width)
    if abs(scale - view.scale) < SAME_SCALE * view.scale:
        scale = view.scale
    # Windows begin half a window before what is missing, so that they lie elsewhere than in the first look.
    around = (
        max(SURROUNDINGS, round(config.windows.window / 2 / scale)) if scale == view.scale else SURROUNDINGS
    )
    box = (
        int(columns[0]) * reduction - around,
        int(rows[0]) * reduction - around,
        min(int(columns[-1] + 1) * reduction, source.width) + SURROUNDINGS,
        min(int(rows[-1] + 1) * reduction, source.height) + SURROUNDINGS,
    )
    return Look(missing, replace(view, scale=scale), box)


def _cost(look: Look) -> float:
    left, top, right, bottom = look.box
    return (right - left) * (bottom - top) * look.view.scale**2


def look_again(
    binarizer: Binarizer, source: PageSource, config: InferenceConfig, look: Look, reduction: int
) -> Iterator[Band]:
    """Yield the probability of what was missing, in whole rows of the page; elsewhere it is 0."""
    left, top, right, _bottom = look.box
    part = CroppedSource(source, look.box)
    inside = slice(max(0, left), min(source.width, right))
    for band in binarizer.bands(part, config, look.view):
        first, last = max(0, top + band.top), min(source.height, top + band.top + len(band.probability))
        if first >= last:
            continue
        found = np.zeros((last - first, source.width), np.float32)
        rows = slice(first - top - band.top, last - top - band.top)
        found[:, inside] = band.probability[rows, inside.start - left : inside.stop - left]
        found *= rows_of(look.missing, reduction, first, last, source.width)
        yield Band(first, found)


def rows_of(mask: Mask, reduction: int, first: int, last: int, width: int) -> Mask:
    """Return rows of a mask of the reduced page at the size of the page."""
    lines = mask[np.minimum(np.arange(first, last) // reduction, len(mask) - 1)]
    found: Mask = np.repeat(lines, reduction, axis=1)[:, :width] if reduction > 1 else lines
    return found
