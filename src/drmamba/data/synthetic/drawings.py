"""Line drawings and woodcuts, alone or among text."""

from __future__ import annotations

import math

import numpy as np

from drmamba.data.page import Field
from drmamba.data.synthetic.galley import Galley, column
from drmamba.data.synthetic.layers import Layer, ink_tone
from drmamba.data.synthetic.linework import engraving, hatching, inside, outline, swelling, wandering
from drmamba.data.synthetic.plate import Box, Plate
from drmamba.data.synthetic.typecase import set_type, some_words
from drmamba.data.synthetic.typography import Typography, log_uniform

FILLED = 0.6  # share of the rooms beside pictures that text fills


def drawing(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """Outlined and hatched figures, or a diagram with letters; sometimes with a caption or text beside it."""
    width = log_uniform(rng, 1.0, 5.0)
    picture = beside_text(typography, rng, plate)
    draw = rng.random()
    if draw < 0.3:
        _diagram(typography, rng, plate, picture, width)
    else:
        for _ in range(int(rng.integers(2, 7))):
            across, down = rng.uniform(0.15, 0.8, 2) * (picture.width, picture.height)
            left = picture.left + rng.uniform(0, 1) * (picture.width - across)
            top = picture.top + rng.uniform(0, 1) * (picture.height - down)
            _figure(rng, plate, Box(left, top, left + across, top + down), width)
        if draw > 0.7:
            for _ in range(int(rng.integers(1, 4))):
                foot = (
                    rng.uniform(picture.left, max(picture.left, picture.right)),
                    rng.uniform(picture.top, max(picture.top, picture.bottom)),
                )
                _branch(rng, plate, foot, -math.pi / 2, 0.3 * picture.height, width * 2)
    return plate.layers(ink_tone(rng), rng, rng.uniform(0, 0.3))


def beside_text(typography: Typography, rng: np.random.Generator, plate: Plate, *, most: float = 0.6) -> Box:
    """Leave room for text above or beside a picture with the probability `most`; returns the picture's box.

    Often the room stays blank: paper beside a dense picture, too, has to be told from ink.
    """
    page = plate.page
    if rng.random() >= most:
        return page
    face = typography.face(rng, typography.script(rng))
    size = int(log_uniform(rng, 9, 30))
    galley = Galley(rng, face, size, plate, page.width)
    pitch = size * rng.uniform(1.1, 1.5)
    # They meet inside the window, so that a small window shows both.
    seen = plate.window
    split = float(np.clip(seen.top + rng.uniform(0.2, 0.8) * seen.height, page.top, page.bottom))
    if rng.random() < 0.5:
        middle = float(np.clip(seen.left + rng.uniform(0.2, 0.8) * seen.width, page.left, page.right))
        text, picture = page._replace(right=middle - size), page._replace(left=middle)
        if rng.random() < 0.5:
            text, picture = page._replace(left=middle + size), page._replace(right=middle)
    else:
        text, picture = page._replace(bottom=split), page._replace(top=split + size)
        if rng.random() < 0.5:
            text, picture = page._replace(top=split + size), page._replace(bottom=split)
    if rng.random() < FILLED:
        column(plate, galley, rng, text, pitch=pitch)
    if rng.random() < 0.5:
        caption = galley.line(rng, 0.8 * picture.width)
        middle = (picture.left + picture.right - caption.shape[1]) / 2
        plate.paste("text", caption, middle, picture.bottom - 1.2 * size)
        picture = picture._replace(bottom=picture.bottom - 1.6 * size)
    return picture


def _figure(rng: np.random.Generator, plate: Plate, box: Box, width: float) -> None:
    """One outlined figure, partly hatched, which hides whatever lies behind it."""
    if not plate.sees(box.inset(-0.3 * box.width, -0.3 * box.height)):
        return
    points = outline(rng, box)
    within = inside(plate, points)
    canvas = plate.canvas("drawing")
    canvas *= 1 - within
    if rng.random() < 0.75:
        shade = outline(rng, box)
        both = within * inside(plate, shade) if rng.random() < 0.7 else within
        pitch, stroke = log_uniform(rng, 4, 16), max(0.9, width * rng.uniform(0.3, 0.8))
        angle = rng.uniform(0, math.pi)
        lines = hatching(plate.shape, angle, pitch, min(stroke, 0.6 * pitch))
        if rng.random() < 0.4:
            other = hatching(plate.shape, angle + rng.uniform(0.6, 1.6), pitch, min(stroke, 0.6 * pitch))
            lines = np.maximum(lines, other)
        np.maximum(canvas, lines * both, out=canvas)
    plate.curve("drawing", points, swelling(rng, len(points), width))


def _branch(
    rng: np.random.Generator,
    plate: Plate,
    foot: tuple[float, float],
    heading: float,
    length: float,
    width: float,
) -> None:
    """A branching twig, as in drawings of plants and trees."""
    path = wandering(rng, foot, heading, length, 0.05)
    plate.curve("drawing", path, np.linspace(width, 0.6 * width, len(path)))
    if length < 22 or width < 0.9:
        return
    for _ in range(int(rng.integers(2, 4))):
        at = path[int(rng.integers(len(path) // 2, len(path)))]
        turn = heading + rng.uniform(-0.9, 0.9)
        _branch(rng, plate, (float(at[0]), float(at[1])), turn, length * rng.uniform(0.5, 0.7), 0.6 * width)


def _diagram(typography: Typography, rng: np.random.Generator, plate: Plate, box: Box, width: float) -> None:
    """Straight lines, circles, dashes and letters, as in books of geometry and machines."""
    face, size = typography.face(rng), int(log_uniform(rng, 12, 34))
    corners = rng.uniform(0, 1, (int(rng.integers(4, 9)), 2)) * (box.width, box.height) + (box.left, box.top)
    for start, end in zip(corners, np.roll(corners, 1, 0), strict=True):
        if rng.random() < 0.25:  # dashed
            for t in np.arange(0, 1, 0.08):
                piece = start + (end - start) * t, start + (end - start) * (t + 0.05)
                plate.line("drawing", (piece[0][0], piece[0][1]), (piece[1][0], piece[1][1]), width)
        else:
            plate.line("drawing", (start[0], start[1]), (end[0], end[1]), width)
    for x, y in corners[: int(rng.integers(1, 4))]:
        radius = rng.uniform(0.05, 0.35) * min(box.width, box.height)
        round_ = np.linspace(0, 2 * math.pi, max(12, int(2 * radius)))
        circle = np.stack([x + radius * np.cos(round_), y + radius * np.sin(round_)], 1)
        plate.curve("drawing", circle, width * rng.uniform(0.5, 1.2))
    for x, y in corners:
        letter = some_words(rng, face, 1)[:1]
        plate.paste("text", set_type(face, size, letter), x + 3, y + 3)


def woodcut(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """A woodcut or engraving: dense strokes and dark areas, sometimes in a frame or beside text."""
    picture = beside_text(typography, rng, plate, most=0.7)
    rows, columns = plate.part(picture)
    canvas = plate.canvas("drawing")
    part = canvas[rows, columns]
    if min(part.shape) > 8:
        pitch = log_uniform(rng, 3.5, 16)
        lines: Field = engraving(rng, (part.shape[0], part.shape[1]), pitch, dark=rng.uniform(0.3, 0.65))
        part[:] = lines
    if rng.random() < 0.6:
        plate.rectangle("line", picture, log_uniform(rng, 1, 8))
    return plate.layers(ink_tone(rng, soot=rng.random() < 0.6), rng, rng.uniform(0, 0.4))
