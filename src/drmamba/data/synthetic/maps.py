"""Maps and plans: coasts, rivers, roads, hills and names in every direction."""

from __future__ import annotations

import math

import numpy as np

from drmamba.data.synthetic.directions import rotated
from drmamba.data.synthetic.layers import COLOURED, Kind, Layer, ink_tone
from drmamba.data.synthetic.linework import STEP, hatching, inside, outline, swelling, wandering
from drmamba.data.synthetic.pen import Points
from drmamba.data.synthetic.plate import Box, Plate
from drmamba.data.synthetic.typecase import set_type, some_words
from drmamba.data.synthetic.typography import Typography, log_uniform


def chart(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """Part of a map in one ink, or with rivers in another colour."""
    page, width = plate.page, log_uniform(rng, 1.0, 3.0)
    around = plate.window.inset(-0.2 * min(plate.shape))  # where lines begin
    size = 1.4 * max(plate.shape)
    many = 1 + max(plate.shape) // 500
    coloured = plate.overlay() if rng.random() < 0.3 else plate
    for _ in range(many * int(rng.integers(1, 4))):
        _coast(rng, plate, wandering(rng, _anywhere(rng, around), rng.uniform(0, 7), 1.2 * size, 0.12), width)
    for _ in range(many * int(rng.integers(1, 5))):
        river = wandering(rng, _anywhere(rng, around), rng.uniform(0, 7), rng.uniform(0.3, 1) * size, 0.16)
        coloured.curve("drawing", river, np.linspace(width, rng.uniform(1, 3) * width, len(river)))
    for _ in range(many * int(rng.integers(0, 5))):
        _road(rng, plate, wandering(rng, _anywhere(rng, around), rng.uniform(0, 7), size, 0.03), width)
    for _ in range(many * int(rng.integers(0, 4))):
        _hills(rng, plate, wandering(rng, _anywhere(rng, around), rng.uniform(0, 7), 0.5 * size, 0.1), width)
    for _ in range(many * int(rng.integers(0, 3))):
        x, y = _anywhere(rng, around)
        across, down = rng.uniform(50, max(50.0, 0.4 * size), 2)
        area = outline(rng, Box(x, y, x + across, y + down))
        _area(rng, plate, area, width)
    if rng.random() < 0.4:  # meridians and parallels
        step = rng.uniform(100, 300)
        for at in np.arange(rng.uniform(0, step), max(page.width, page.height), step):
            plate.line("line", (at, page.top), (at, page.bottom), 0.7 * width)
            plate.line("line", (page.left, at), (page.right, at), 0.7 * width)
    _names(typography, rng, plate)
    if rng.random() < 0.5:
        plate.rectangle("line", page.inset(3), rng.uniform(1, 6))
        plate.rectangle("line", page.inset(rng.uniform(8, 16)), width)
    wear = rng.uniform(0, 0.3)
    layers = plate.layers(ink_tone(rng), rng, wear)
    if coloured is not plate:
        colour = np.array(COLOURED[int(rng.integers(len(COLOURED)))], np.float32)
        layers += coloured.layers(colour * np.float32(rng.uniform(0.7, 1)), rng, wear)
    return layers


def _anywhere(rng: np.random.Generator, box: Box) -> tuple[float, float]:
    return rng.uniform(box.left, box.right), rng.uniform(box.top, box.bottom)


def _sideways(path: Points) -> Points:
    """Unit vectors perpendicular to a line."""
    along = np.gradient(path, axis=0)
    along /= np.maximum(np.hypot(along[:, 0], along[:, 1]), 1e-9)[:, None]
    return np.stack([-along[:, 1], along[:, 0]], 1)


def _coast(rng: np.random.Generator, plate: Plate, path: Points, width: float) -> None:
    """A coast line, with further lines along it or short strokes on the side of the sea."""
    plate.curve("drawing", path, swelling(rng, len(path), 1.4 * width))
    across = _sideways(path)
    draw, gap = rng.random(), rng.uniform(4, 9)
    if draw < 0.4:
        for k in range(1, int(rng.integers(2, 7))):
            plate.curve("drawing", path + across * gap * k * (1 + 0.1 * k), max(0.8, 0.6 * width))
    elif draw < 0.7:
        length = rng.uniform(0.8, 1.6, (len(path[::2]), 1)) * gap
        _strokes(plate, "drawing", path[::2], path[::2] + across[::2] * length, (0.8 * width, 0.8 * width))


def _road(rng: np.random.Generator, plate: Plate, path: Points, width: float) -> None:
    """A road as two lines, a border as dashes and dots, or a railway as a line with ticks."""
    across, draw = _sideways(path), rng.random()
    if draw < 0.4:
        for side in (-1, 1):
            plate.curve("line", path + across * side * 1.6 * width, 0.7 * width)
    elif draw < 0.7:
        period = int(rng.integers(4, 9))
        drawn = np.arange(len(path)) % period < period // 2
        plate.curve("line", path, np.where(drawn, width, 0))
    else:
        plate.curve("line", path, width)
        reach = across[::4] * 3 * width
        _strokes(plate, "line", path[::4] - reach, path[::4] + reach, (width, width))


def _hills(rng: np.random.Generator, plate: Plate, path: Points, width: float) -> None:
    """A ridge with hachures: short strokes down either slope, thick at the top and thin at the bottom."""
    across = _sideways(path)
    for side in (-1, 1):
        reach = side * rng.uniform(8, 24) * rng.uniform(0.6, 1.2, (len(path), 1))
        ends = path + across * reach + rng.normal(0, 1, path.shape)
        _strokes(plate, "drawing", path, ends, (1.5 * width, 0.8 * width))


def _strokes(plate: Plate, kind: Kind, starts: Points, ends: Points, widths: tuple[float, float]) -> None:
    """Draw many short strokes at once, with one width in their first half and another in their second."""
    points = np.stack([starts, (starts + ends) / 2, ends], 1).reshape(-1, 2)
    # A width of 0 draws nothing from one stroke to the next.
    plate.curve(kind, points, np.tile((*widths, 0.0), len(starts)))


def _area(rng: np.random.Generator, plate: Plate, border: Points, width: float) -> None:
    """A wood, a marsh or a field: hatched, or filled with small marks."""
    within = inside(plate, border)
    canvas = plate.canvas("drawing")
    if rng.random() < 0.6:
        lines = hatching(plate.shape, rng.uniform(0, math.pi), rng.uniform(5, 14), max(0.9, 0.7 * width))
        np.maximum(canvas, lines * within, out=canvas)
    else:
        low, high = border.min(0), border.max(0)
        for x, y in rng.uniform(low, high, (min(120, int(np.prod(high - low) / 500)), 2)):
            row, place = int(y) - plate.corner[0], int(x) - plate.corner[1]
            if 0 <= row < plate.shape[0] and 0 <= place < plate.shape[1] and within[row, place]:
                plate.curve("drawing", [(x - STEP, y), (x, y - STEP), (x + STEP, y)], width)
    if rng.random() < 0.5:
        plate.curve("line", border, width)


def _names(typography: Typography, rng: np.random.Generator, plate: Plate) -> None:
    """Place names at any angle, some of them in capitals with wide letter spacing."""
    script = typography.script(rng)
    faces = [typography.face(rng, script) for _ in range(2)]
    area = plate.shape[0] * plate.shape[1]
    for _ in range(min(60, int(rng.uniform(2, 6) + area / 25_000))):
        face, size = faces[int(rng.integers(2))], int(log_uniform(rng, 9, 40))
        word = some_words(rng, face, 1 if rng.random() < 0.8 else 2)
        if rng.random() < 0.15 and script == "latin":
            word = "  ".join(word.upper())
        draw = rng.random()
        angle = 0.0 if draw < 0.5 else float(rng.choice((90, 270))) if draw < 0.6 else rng.uniform(-80, 80)
        window = plate.window
        x, y = rng.uniform(window.left - 40, window.right), rng.uniform(window.top - 20, window.bottom)
        name = rotated(set_type(face, size, word), angle)
        if rng.random() < 0.6:  # lines are interrupted for it
            plate.clear(Box(x, y, x + name.shape[1], y + name.shape[0]) if angle == 0 else Box(x, y, x, y))
        plate.paste("text", name, x, y)
