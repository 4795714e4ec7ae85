"""Elements of drawings, maps and woodcuts: wandering lines, closed outlines, hatching and engraved tone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from drmamba.compilation import compiled
from drmamba.data.filters import smoothstep
from drmamba.data.page import Field
from drmamba.data.synthetic.pen import Points
from drmamba.data.synthetic.plate import Box, Plate
from drmamba.data.wide_noise import clouds

STEP = 4.0  # pixels between two points of a line


def wandering(
    rng: np.random.Generator,
    start: tuple[float, float],
    heading: float,
    length: float,
    bend: float = 0.06,
) -> Points:
    """A line that starts in a direction (radians) and drifts from it, as rivers and coasts do."""
    count = max(4, int(length / STEP))
    turns = np.cumsum(rng.normal(0, bend, count)) * 0.6
    knots = rng.normal(0, 5 * bend, count // 12 + 2)
    turns += np.interp(np.arange(count), 12 * np.arange(len(knots)), knots)
    angle = heading + turns
    moves = np.stack([np.cos(angle), np.sin(angle)], 1) * STEP
    return np.array(start) + np.cumsum(moves, 0)


def outline(rng: np.random.Generator, box: Box, roughness: float = 0.25) -> Points:
    """A closed, rounded outline that roughly fills a box."""
    count = max(24, int((box.width + box.height) * 1.6 / STEP))
    angle = np.linspace(0, 2 * math.pi, count)
    radius = np.ones(count)
    for wave in range(2, 7):
        radius += roughness / wave * rng.normal() * np.cos(wave * angle + rng.uniform(0, 2 * math.pi))
    radius = np.clip(radius, 0.3, 1.6) * 0.5
    middle = np.array((box.left + box.right, box.top + box.bottom)) / 2
    return middle + np.stack([np.cos(angle) * box.width, np.sin(angle) * box.height], 1) * radius[:, None]


def swelling(rng: np.random.Generator, count: int, width: float) -> NDArray[np.float64]:
    """The widths along a drawn line, which vary with the pressure of the hand."""
    knots = rng.uniform(0.6, 1.3, max(2, count // 10 + 1)) * width
    return np.asarray(np.interp(np.linspace(0, len(knots) - 1, count), np.arange(len(knots)), knots))


def inside(plate: Plate, points: Points) -> Field:
    """A mask of the window that is 1 inside a closed line and 0 outside."""
    canvas = Image.new("L", (plate.shape[1], plate.shape[0]))
    moved = points - (plate.corner[1], plate.corner[0])
    ImageDraw.Draw(canvas).polygon([(float(x), float(y)) for x, y in moved], fill=1)
    return np.asarray(canvas).astype(np.float32)


def hatching(shape: tuple[int, int], angle: float, pitch: float, width: float) -> Field:
    """Parallel lines over a whole area, as the share of each pixel that they cover."""
    y = np.arange(shape[0], dtype=np.float32)[:, None] * np.float32(math.cos(angle) / pitch)
    x = np.arange(shape[1], dtype=np.float32)[None, :] * np.float32(math.sin(angle) / pitch)
    phase = y + x
    away = np.abs(phase - np.floor(phase) - np.float32(0.5)) * np.float32(pitch)
    lines: Field = np.clip(np.float32(width / 2 + 0.5) - away, 0, 1)
    return lines


def engraving(rng: np.random.Generator, shape: tuple[int, int], pitch: float, *, dark: float = 0.5) -> Field:
    """A picture of strokes alone: outlined areas of hatching whose lines are wider where the picture is darker.

    Each area is where one of several random fields is the highest, and has its own direction.
    """
    scale = rng.uniform(0.25, 0.6) * max(min(shape), 250)
    count = int(rng.integers(3, 6))
    fields = np.stack([clouds(rng, shape, scale, octaves=2) for _ in range(count)])
    area = fields.argmax(0)
    first = fields.max(0)
    np.put_along_axis(fields, area[None], np.float32(-9), 0)
    edge = first - fields.max(0)
    tone = np.clip(rng.normal(dark, 0.22, count), -0.1, 0.95).astype(np.float32)
    if rng.random() < 0.6:
        tone[int(rng.integers(count))] = 0  # bare paper
    if rng.random() < 0.25:
        tone[int(rng.integers(count))] = 1.3  # solid black
    angles = rng.uniform(0, math.pi, count) if rng.random() < 0.5 else rng.normal(0.4, 0.3, count)
    shade = clouds(rng, shape, 0.5 * scale, octaves=2)
    bend = clouds(rng, shape, scale, octaves=1) * np.float32(rng.uniform(0.5, 2.0))
    crossed = rng.random(count) < 0.3
    pitches = (pitch * rng.uniform(0.8, 1.5, count)).astype(np.float32)
    lines = _engraved(
        area.astype(np.int32),
        tone,
        shade * np.float32(0.25),
        bend,
        np.cos(angles).astype(np.float32),
        np.sin(angles).astype(np.float32),
        pitches,
        crossed,
    )
    outlined = smoothstep(-edge, -rng.uniform(0.02, 0.09) - 2.0 / scale, -0.5 / scale)
    result: Field = np.maximum(lines, outlined)
    return result


@compiled(nogil=True)
def _engraved(
    area: NDArray[np.int32],
    tone: Field,
    shade: Field,
    bend: Field,
    cosine: Field,
    sine: Field,
    pitch: Field,
    crossed: NDArray[np.bool_],
) -> Field:  # pragma: no cover - compiled
    """Strokes in the direction and pitch of their area, as wide as its tone requires; dark areas may be crossed."""
    height, width = area.shape
    result = np.empty((height, width), np.float32)
    for y in range(height):
        for x in range(width):
            k = area[y, x]
            dark = min(0.85, tone[k] + shade[y, x]) if 0 < tone[k] < 1.2 else tone[k]
            if dark <= 0.05:
                result[y, x] = 0
                continue
            cover = 0.0
            for turn in range(2 if crossed[k] and dark > 0.5 else 1):
                along = y * cosine[k] + x * sine[k] if turn == 0 else y * sine[k] - x * cosine[k]
                phase = along / pitch[k] + bend[y, x]
                away = abs(phase - math.floor(phase) - 0.5) * pitch[k]
                cover = max(cover, min(1.0, max(0.0, 0.5 * min(dark, 1.3) * pitch[k] + 0.5 - away)))
            result[y, x] = cover
    return result
