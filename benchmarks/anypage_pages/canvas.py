"""Ink on a page before anything happens to it: one coverage layer for each category and ink."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageDraw

from anypage_pages.page import Box, Category, TextBlock

FINE = 3  # vector drawings are made this many times larger and then reduced, which smooths their edges


@dataclass(frozen=True, kw_only=True)
class Ink:
    """How an ink looks on paper."""

    colour: tuple[int, int, int] = (28, 26, 26)
    density: float = 0.92  # share of the paper's light that a full stroke takes away
    fading: float = 0.0  # how much of the density slow changes over the page may take away
    grain: float = 0.05  # the same for changes from pixel to pixel, as paper tooth makes them
    wear: float = 0.0  # pixels by which edges are worn or squeezed; the truth is worn as well


PRINT = Ink()
OLD_PRINT = Ink(colour=(42, 36, 32), density=0.86, fading=0.15, grain=0.08, wear=0.5)
PEN = Ink(colour=(52, 38, 30), density=0.82, fading=0.25, grain=0.06)
BLUE_PEN = Ink(colour=(38, 44, 92), density=0.80, fading=0.2, grain=0.06)
PENCIL = Ink(colour=(78, 78, 82), density=0.72, fading=0.2, grain=0.3)
RIBBON = Ink(colour=(50, 48, 62), density=0.80, fading=0.3, grain=0.22, wear=0.4)
TONER = Ink(colour=(22, 22, 24), density=0.96, grain=0.06, wear=0.6)


@dataclass
class Layer:
    """What one ink has drawn of one category."""

    category: Category
    ink: Ink
    coverage: Image.Image  # "L": 255 where a pixel is all ink
    strike: Image.Image | None = None  # "L": 255 where the stroke has its full density; typewriters vary it


@dataclass
class Canvas:
    """A page that is being drawn."""

    width: int
    height: int
    layers: list[Layer] = field(default_factory=list)
    blocks: list[TextBlock] = field(default_factory=list)
    tone: Image.Image | None = None  # "L": darkness of a halftone
    tone_boxes: list[Box] = field(default_factory=list)

    def layer(self, category: Category, ink: Ink = PRINT) -> Layer:
        """The layer of a category and an ink; it is made when it is first asked for."""
        for layer in self.layers:
            if layer.category == category and layer.ink == ink:
                return layer
        layer = Layer(category, ink, Image.new("L", (self.width, self.height), 0))
        self.layers.append(layer)
        return layer

    @contextmanager
    def pen(self, category: Category, ink: Ink = PRINT) -> Iterator[Pen]:
        """A pen for lines and shapes with smooth edges."""
        pen = Pen(self.width, self.height)
        yield pen
        pen.add_to(self.layer(category, ink))

    def add(self, category: Category, coverage: NDArray[np.float32], ink: Ink = PRINT) -> None:
        """Draw what an array from 0 to 1 covers."""
        picture = Image.fromarray((np.clip(coverage, 0, 1) * 255).astype(np.uint8))
        layer = self.layer(category, ink)
        layer.coverage = ImageChops.lighter(layer.coverage, picture)

    def rule(self, box: Box, ink: Ink = PRINT) -> None:
        """A printed rule that fills a box."""
        left, top, right, bottom = box
        x, y = int(left) - 1, int(top) - 1
        pen = Pen(int(right) - x + 2, int(bottom) - y + 2)
        pen.rectangle((left - x, top - y, right - x, bottom - y))
        part = pen.coverage()
        coverage = self.layer("rule", ink).coverage
        area = (x, y, x + part.width, y + part.height)
        coverage.paste(ImageChops.lighter(coverage.crop(area), part), area)


Point = tuple[float, float]


class Pen:
    """Lines and shapes in pixels of the page, drawn larger and reduced."""

    def __init__(self, width: int, height: int) -> None:
        self._image = Image.new("L", (width * FINE, height * FINE), 0)
        self._draw = ImageDraw.Draw(self._image)

    def line(self, points: list[Point], width: float) -> None:
        """A stroke through points, with round ends."""
        if len(points) < 2:
            return
        scaled = [(x * FINE, y * FINE) for x, y in points]
        self._draw.line(scaled, 255, max(1, round(width * FINE)), joint="curve")
        radius = width * FINE / 2
        for x, y in (scaled[0], scaled[-1]) if radius >= 1 else ():
            self._draw.ellipse((x - radius, y - radius, x + radius, y + radius), 255)

    def polygon(self, points: list[Point], fill: bool = True) -> None:
        """A filled shape, or a hole when `fill` is false."""
        self._draw.polygon([(x * FINE, y * FINE) for x, y in points], 255 if fill else 0)

    def rectangle(self, box: Box, fill: bool = True) -> None:
        """A filled box, or a hole when `fill` is false."""
        left, top, right, bottom = (side * FINE for side in box)
        self._draw.rectangle((left, top, right - 1, bottom - 1), 255 if fill else 0)

    def frame(self, box: Box, width: float) -> None:
        """Four strokes around a box."""
        left, top, right, bottom = box
        corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
        for start, end in itertools.pairwise(corners):
            self.line([start, end], width)

    def ellipse(self, box: Box, fill: bool = True) -> None:
        """A filled ellipse in a box, or a hole when `fill` is false."""
        left, top, right, bottom = (side * FINE for side in box)
        self._draw.ellipse((left, top, right, bottom), 255 if fill else 0)

    def coverage(self) -> Image.Image:
        """What has been drawn, at the page's size."""
        return self._image.reduce(FINE)

    def add_to(self, layer: Layer) -> None:
        """Put what has been drawn on a layer."""
        layer.coverage = ImageChops.lighter(layer.coverage, self.coverage())
