"""What is clearly darker than its surroundings, at any stroke width, by a classical method.

A morphological closing removes everything dark that is narrower than its square; what it adds is the darkness of what
it removed (a black top-hat). Its result, reduced, is closed again for structures that are four times as wide, and
again. So each structure is measured at one level, against the paper around it, and slow shading is measured at none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.inference.analysis.filters import Mask
from drmamba.inference.analysis.strokes import Grey

CLOSING_SIDE = 25  # pixels of a level; structures that are narrower belong to it
LEVELS = 3  # levels; the widest structures are 25 * 4 * 4 pixels of the reduced page wide
LEVEL_STEP = 4  # ratio of the reductions of two levels


@dataclass(frozen=True)
class Level:
    """The structures of one range of widths."""

    zoom: int  # pixels of the reduced page along each side of a pixel of this level
    paper: Grey  # the grey level of the paper around
    darkness: Grey  # how much darker than that a pixel is
    slope: Grey  # the steepest change of the grey level at a pixel, over two pixels


@dataclass(frozen=True)
class Structures:
    """Dark structures of a page by their width, the finest first."""

    levels: tuple[Level, ...]
    noise: float  # the darkness that noise gives to half of the page, in grey levels

    @classmethod
    def measure(cls, grey: Grey) -> Structures:
        """Measure a page in grey, ink dark."""
        levels: list[Level] = []
        smooth, zoom = smoothed(grey), 1
        for _ in range(LEVELS):
            if levels and min(smooth.shape) < CLOSING_SIDE:
                break
            paper = closed(smooth, CLOSING_SIDE)
            levels.append(Level(zoom, paper, paper - smooth, slope(smooth)))
            smooth, zoom = reduced(paper, LEVEL_STEP), zoom * LEVEL_STEP
        return cls(tuple(levels), float(np.median(levels[0].darkness[::3, ::3])))


def smoothed(grey: Grey) -> Grey:
    """Return a page with its noise averaged over squares of three pixels, the middle weighing most."""
    padded = np.pad(grey, 1, mode="edge").astype(np.uint16)
    rows = padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]
    return np.asarray((rows[:-2] + 2 * rows[1:-1] + rows[2:] + 8) >> 4, np.uint8)


def slope(grey: Grey) -> Grey:
    """Return the larger of the changes along rows and columns, over two pixels."""
    padded = np.pad(grey, 1, mode="edge").astype(np.int16)
    across = np.abs(padded[1:-1, 2:] - padded[1:-1, :-2])
    down = np.abs(padded[2:, 1:-1] - padded[:-2, 1:-1])
    return np.asarray(np.maximum(across, down), np.uint8)


def reduced(values: Grey, factor: int) -> Grey:
    """Return the means over squares."""
    return np.asarray(Image.fromarray(values).reduce(factor))


def closed(values: Grey, side: int) -> Grey:
    """Return a page without its dark structures narrower than a square of this side."""
    return lowest(highest(values, side), side)


def highest(values: Grey, side: int) -> Grey:
    """Return the largest value in a square of this odd side around each pixel."""
    return extreme(extreme(values, side, 0, np.maximum), side, 1, np.maximum)


def lowest(values: Grey, side: int) -> Grey:
    """Return the smallest value in a square of this odd side around each pixel."""
    return extreme(extreme(values, side, 0, np.minimum), side, 1, np.minimum)


def grown(mask: Mask, side: int) -> Mask:
    """Return where a square of this odd side holds any pixel of a mask; for large masks and small squares."""
    return highest(mask.view(np.uint8), side).view(np.bool_)


def enlarged(values: NDArray[Any], factor: int, shape: tuple[int, int]) -> NDArray[Any]:
    """Return values repeated along both sides, cut to a shape."""
    return np.repeat(np.repeat(values, factor, 0), factor, 1)[: shape[0], : shape[1]]


def extreme(values: Grey, side: int, axis: int, choose: Any) -> Grey:
    """Return the extreme of `side` neighbours along an axis, by doubling the length that is known."""
    widths = [(0, 0), (0, 0)]
    widths[axis] = (side // 2, side // 2)
    found, known = np.pad(values, widths, mode="edge"), 1
    while known < side:
        step = min(known, side - known)
        found = (
            choose(found[:-step], found[step:]) if axis == 0 else choose(found[:, :-step], found[:, step:])
        )
        known += step
    return found
