"""The plate: a page during composition, with one canvas for each kind of ink, of which a window is visible."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drmamba.data.page import Field
from drmamba.data.synthetic.layers import Kind, Layer, Tone
from drmamba.data.synthetic.pen import Points, stamp
from drmamba.data.synthetic.printing import worn
from drmamba.data.synthetic.typecase import lay

SMALLEST = 640  # pixels; typical least side of a page of which only a window is visible


class Box(NamedTuple):
    """A rectangle on the page, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """Pixels across."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Pixels down."""
        return self.bottom - self.top

    def inset(self, across: float, down: float | None = None) -> Box:
        """The box reduced by a margin on every side."""
        down = across if down is None else down
        return Box(self.left + across, self.top + down, self.right - across, self.bottom - down)


class Plate:
    """Canvases of the visible window of a page. Positions refer to the page; elements outside the window are free."""

    def __init__(self, shape: tuple[int, int], page: Box, corner: tuple[int, int] = (0, 0)) -> None:
        self.shape, self.page, self.corner = shape, page, corner  # corner is the top and left of the window
        self.canvases: dict[Kind, Field] = {}

    @classmethod
    def drawn(cls, rng: np.random.Generator, shape: tuple[int, int], *, whole: bool = False) -> Plate:
        """A random window of a larger page, or a whole page within margins."""
        height, width = shape
        if whole:
            return cls(shape, Box(0, 0, width, height).inset(rng.uniform(0.04, 0.09) * min(shape)))
        sides = [max(side * rng.uniform(1.0, 1.5), SMALLEST * rng.uniform(0.8, 1.3)) for side in shape]
        top, left = (
            int(rng.uniform(-0.04, 1.04) * (side - seen)) for side, seen in zip(sides, shape, strict=True)
        )
        return cls(shape, Box(0, 0, sides[1], sides[0]), (top, left))

    def overlay(self) -> Plate:
        """An empty plate of the same window, for another ink."""
        return Plate(self.shape, self.page, self.corner)

    @property
    def window(self) -> Box:
        """The visible part of the page."""
        top, left = self.corner
        return Box(left, top, left + self.shape[1], top + self.shape[0])

    def sees(self, box: Box) -> bool:
        """Whether a box overlaps the window."""
        window = self.window
        return (
            box.left < window.right
            and box.right > window.left
            and box.top < window.bottom
            and box.bottom > window.top
        )

    def canvas(self, kind: Kind) -> Field:
        """The writable canvas of a kind: the share of each pixel of the window that its ink covers."""
        if kind not in self.canvases:
            self.canvases[kind] = np.zeros(self.shape, np.float32)
        return self.canvases[kind]

    def part(self, box: Box) -> tuple[slice, slice]:
        """The slices of the window that lie inside a box; empty if it lies outside."""
        top, left = self.corner
        rows = slice(max(0, round(box.top) - top), max(0, round(box.bottom) - top))
        return rows, slice(max(0, round(box.left) - left), max(0, round(box.right) - left))

    def paste(self, kind: Kind, coverage: Field, left: float, top: float) -> None:
        """Paste a picture of ink with its upper left corner at a position; a pixel keeps its larger coverage."""
        lay(self.canvas(kind), coverage, left - self.corner[1], top - self.corner[0])

    def curve(self, kind: Kind, points: ArrayLike, width: ArrayLike) -> None:
        """Draw a line through points (n, 2), with one width or one per point; a width of 0 draws nothing."""
        path = np.asarray(points, np.float64) - (self.corner[1], self.corner[0])
        half = np.broadcast_to(np.asarray(width, np.float64) / 2, len(path))
        stamp(self.canvas(kind), path, np.ascontiguousarray(half))

    def line(self, kind: Kind, start: tuple[float, float], end: tuple[float, float], width: float) -> None:
        """Draw a straight line; slanted ones in short segments, because the cost of one is its bounding box."""
        if not self.sees(_around(start, end, width)):
            return
        across, down = end[0] - start[0], end[1] - start[1]
        slanted = min(abs(across), abs(down)) > 2
        steps = max(2, math.ceil(math.hypot(across, down) / 6)) if slanted else 2
        t = np.linspace(0, 1, steps)[:, None]
        self.curve(kind, np.array(start) + t * np.array((across, down)), width)

    def rectangle(self, kind: Kind, box: Box, width: float) -> None:
        """Draw the outline of a box."""
        left, top, right, bottom = box
        for start, end in (
            ((left, top), (right, top)),
            ((left, bottom), (right, bottom)),
            ((left, top), (left, bottom)),
            ((right, top), (right, bottom)),
        ):
            self.line(kind, start, end, width)

    def clear(self, box: Box) -> None:
        """Remove everything inside a box."""
        for canvas in self.canvases.values():
            canvas[self.part(box)] = 0

    def layers(self, dark: Tone, rng: np.random.Generator, wear: float = 0.0) -> list[Layer]:
        """Everything drawn so far as layers of one ink, worn like old type."""
        return [Layer(worn(canvas, rng, wear), dark, kind) for kind, canvas in self.canvases.items()]


def _around(start: tuple[float, float], end: tuple[float, float], width: float) -> Box:
    (x0, y0), (x1, y1) = start, end
    return Box(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)).inset(-width - 1)


def shifted(strokes: list[Points], plate: Plate) -> list[Points]:
    """Strokes in page coordinates, converted to the coordinates of the window."""
    corner: NDArray[np.int64] = np.array((plate.corner[1], plate.corner[0]))
    return [stroke - corner for stroke in strokes]
