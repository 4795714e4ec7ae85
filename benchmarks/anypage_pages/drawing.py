"""Drawn things: curves, hatching, engraved tone, rosettes and halftones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops

from anypage_pages.canvas import PRINT, Canvas, Ink, Pen, Point
from anypage_pages.page import Box
from anypage_pages.paper import Field, clouds

Generator = np.random.Generator


def closed_curve(
    rng: Generator, centre: Point, radius: float, wobble: float = 0.25, squeeze: float = 1.0
) -> list[Point]:
    """A smooth closed outline around a centre."""
    angles = np.linspace(0, 2 * np.pi, 90, endpoint=False)
    reach = np.ones_like(angles)
    for order in range(2, 6):
        reach += wobble / order * rng.normal() * np.cos(order * angles + rng.uniform(0, 6.3))
    reach = np.clip(reach, 0.35, 1.7) * radius
    x, y = centre[0] + reach * np.cos(angles), centre[1] + squeeze * reach * np.sin(angles)
    return [(float(a), float(b)) for a, b in zip(x, y, strict=True)]


def hatch(
    canvas: Canvas, outline: list[Point], spacing: float, angle: float, width: float, ink: Ink, rng: Generator
) -> None:
    """Parallel strokes inside an outline, a little unsteady, as a hand draws them."""
    inside = Pen(canvas.width, canvas.height)
    inside.polygon(outline)
    strokes = Pen(canvas.width, canvas.height)
    points = np.array(outline)
    centre, reach = points.mean(0), float(np.ptp(points, 0).max())
    along = np.array([np.cos(angle), np.sin(angle)])
    across = np.array([-along[1], along[0]])
    for offset in np.arange(-reach, reach, spacing):
        start = centre + across * (offset + rng.normal(0, 0.4)) - along * reach
        end = centre + across * (offset + rng.normal(0, 0.4)) + along * reach
        strokes.line([(float(start[0]), float(start[1])), (float(end[0]), float(end[1]))], width)
    layer = canvas.layer("drawing", ink)
    clipped = ImageChops.multiply(inside.coverage(), strokes.coverage())
    layer.coverage = ImageChops.lighter(layer.coverage, clipped)


def engraved(
    darkness: Field, period: float, rng: Generator, bend: float = 1.0, finest: float = 1.6
) -> NDArray[np.float32]:
    """Tone as engravers cut it: wavy lines that swell where the picture is dark.

    darkness: (H, W), 0 to 1. The result is the coverage; strokes are never thinner than `finest` pixels.
    """
    shape = (darkness.shape[0], darkness.shape[1])
    y = np.arange(shape[0], dtype=np.float32)[:, None]
    height = y + bend * period * 2.5 * clouds(rng, shape, 2.2, 8)
    distance = np.abs((height / period) % 1 - 0.5) * period  # pixels from the nearest line's middle
    width = darkness * period
    width = np.where(width < finest * 0.6, 0, np.maximum(width, finest))
    return np.asarray(np.clip(width / 2 - distance + 0.5, 0, 1) * (width > 0), np.float32)


def landscape(rng: Generator, shape: tuple[int, int]) -> Field:
    """Darkness of a made-up view: a pale sky with clouds, hills, and trees in front."""
    rows, columns = shape
    y = np.linspace(0, 1, rows, dtype=np.float32)[:, None]
    picture = np.clip(0.10 + 0.12 * clouds(rng, shape, 1.9, 4) + 0.15 * (0.4 - y), 0, 0.4)
    for depth in range(4):
        ridge = 0.35 + 0.15 * depth + 0.06 * enlarged_walk(rng, columns)
        tone = np.clip(0.25 + 0.13 * depth + 0.14 * clouds(rng, shape, 1.3, 3), 0.12, 0.72)
        picture = np.where(y > ridge[None, :], tone, picture)
    for _ in range(int(rng.integers(2, 5))):
        x, base, size = rng.uniform(0.1, 0.9) * columns, rng.uniform(0.6, 0.9), rng.uniform(0.08, 0.2)
        grid_x = np.arange(columns, dtype=np.float32)[None, :]
        crown = ((grid_x - x) / (size * rows * 0.6)) ** 2 + ((y - base + size) / size) ** 2
        leaves = crown + 0.35 * clouds(rng, shape, 1.1, 3) < 0.8
        trunk = (np.abs(grid_x - x) < size * rows * 0.06) & (y > base - size) & (y < base + size * 0.4)
        picture = np.where(
            leaves | trunk, np.clip(0.66 + 0.1 * clouds(rng, shape, 1.0, 3), 0.4, 0.9), picture
        )
    return picture.astype(np.float32)


def enlarged_walk(rng: Generator, length: int) -> NDArray[np.float32]:
    """A smooth random line."""
    knots = rng.normal(0, 1, 9)
    return np.interp(np.linspace(0, 8, length), np.arange(9), knots).astype(np.float32)


def rosette(pen: Pen, centre: Point, radius: float, petals: int) -> None:
    """A printer's flower."""
    for index in range(petals):
        angle = 2 * np.pi * index / petals
        x, y = centre[0] + 0.62 * radius * np.cos(angle), centre[1] + 0.62 * radius * np.sin(angle)
        size = 0.3 * radius
        pen.ellipse((x - size, y - size, x + size, y + size))
    size = 0.22 * radius
    pen.ellipse((centre[0] - size, centre[1] - size, centre[0] + size, centre[1] + size))


def halftone(canvas: Canvas, box: Box, rng: Generator) -> None:
    """A printed photograph of dots; no pixel of it is scored."""
    left, top, right, bottom = (round(side) for side in box)
    shape = (bottom - top, right - left)
    tone = np.clip(0.45 + 0.28 * clouds(rng, shape, 1.7, 4), 0.05, 0.95)
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]].astype(np.float32)
    period = 5.5
    screen = 0.5 + 0.25 * (np.cos(2 * np.pi * (x + y) / period) + np.cos(2 * np.pi * (x - y) / period))
    dots = np.clip((tone - screen) * 4 + 0.5, 0, 1)
    canvas.tone = canvas.tone or Image.new("L", (canvas.width, canvas.height), 0)
    canvas.tone.paste(Image.fromarray((dots * 255).astype(np.uint8)), (left, top))
    canvas.tone_boxes.append(box)
    with canvas.pen("rule", PRINT) as pen:
        pen.frame((left - 3, top - 3, right + 3, bottom + 3), 2)
