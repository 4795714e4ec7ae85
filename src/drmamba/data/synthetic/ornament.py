"""Book ornaments: borders of repeated pieces, frames of several lines, decorated initials and head-pieces."""

from __future__ import annotations

import math

import numpy as np

from drmamba.data.page import Field
from drmamba.data.synthetic.galley import Galley, column, headline
from drmamba.data.synthetic.layers import COLOURED, Layer, printers_ink
from drmamba.data.synthetic.linework import engraving
from drmamba.data.synthetic.plate import Box, Plate
from drmamba.data.synthetic.typecase import set_type, some_words
from drmamba.data.synthetic.typography import Typography, log_uniform


def ornament(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """A page of text in a frame or below a head-piece, with an initial in a decorated square."""
    page, script = plate.page, typography.script(rng)
    face, heavy = typography.face(rng, script), typography.face(rng, script, style="heavy")
    size = int(log_uniform(rng, 12, 40))
    inner = _frame(rng, plate, page) if rng.random() < 0.6 else page
    if rng.random() < 0.4:
        height = rng.uniform(2, 5) * size
        border(rng, plate, inner._replace(bottom=inner.top + height), height)
        inner = inner._replace(top=inner.top + height + 0.6 * size)
    if rng.random() < 0.4:
        inner = inner._replace(
            top=inner.top + headline(plate, rng, heavy, inner, int(size * rng.uniform(1.2, 3)))
        )
    galley = Galley(rng, face, size, plate, inner.width)
    pitch = size * rng.uniform(1.1, 1.5)
    column(plate, galley, rng, inner, pitch=pitch)
    ink, wear = printers_ink(rng, size), rng.uniform(0, 0.5) * min(1, size / 24)
    side = pitch * int(rng.integers(2, 6))
    # The initial stands at the left of the text if that is visible, else somewhere inside the window.
    window = plate.window
    top = (
        inner.top
        if rng.random() < 0.3
        else rng.uniform(window.top, max(window.top + 1, window.bottom - side))
    )
    left = inner.left if window.left <= inner.left else window.left + rng.uniform(0, 0.5) * window.width
    box = Box(left, top, left + side, top + side)
    plate.clear(box.inset(-0.3 * size))
    initials = plate.overlay()
    colour = np.array(COLOURED[int(rng.integers(2))], np.float32) if rng.random() < 0.3 else ink
    _initial(typography, rng, initials, box)
    return [*plate.layers(ink, rng, wear), *initials.layers(colour, rng, wear)]


def _frame(rng: np.random.Generator, plate: Plate, page: Box) -> Box:
    """Draw lines of different widths or a border of pieces around the page; returns the box inside."""
    inner = page.inset(rng.uniform(2, 12))
    for _ in range(int(rng.integers(1, 4))):
        width = log_uniform(rng, 1, 8)
        plate.rectangle("line", inner, width)
        inner = inner.inset(1.6 * width + rng.uniform(2, 6))
    if rng.random() < 0.6:
        height = rng.uniform(12, 48)
        for box in (
            inner._replace(bottom=inner.top + height),
            inner._replace(top=inner.bottom - height),
            inner._replace(right=inner.left + height),
            inner._replace(left=inner.right - height),
        ):
            border(rng, plate, box, height)
        inner = inner.inset(height + 2)
        plate.rectangle("line", inner, rng.uniform(1, 3))
    return inner.inset(rng.uniform(6, 24))


def border(rng: np.random.Generator, plate: Plate, box: Box, height: float) -> None:
    """Fill a strip with copies of one ornament, every second one mirrored."""
    if not plate.sees(box):
        return
    piece = fleuron(rng, max(6, int(height)))
    for k, x in enumerate(np.arange(box.left, box.right - 1, height)):
        for j, y in enumerate(np.arange(box.top, box.bottom - 1, height)):
            picture = piece[:, ::-1] if (k + j) % 2 else piece
            plate.paste("drawing", picture[: int(box.bottom - y), : int(box.right - x)], x, y)


def fleuron(rng: np.random.Generator, side: int) -> Field:
    """A small symmetrical ornament: petals, scrolls and dots in a square."""
    piece = Plate((side, side), Box(0, 0, side, side))
    middle, width = side / 2, max(1.0, side * rng.uniform(0.04, 0.12))
    petals, turns = int(rng.integers(2, 7)), rng.uniform(0, 1.5)
    t = np.linspace(0, 1, max(8, side // 2))
    for k in range(petals):
        angle = 2 * math.pi * k / petals + turns + rng.uniform(0.5, 2.5) * t
        radius = 0.46 * side * t ** rng.uniform(0.6, 1.4)
        path = np.stack([middle + radius * np.cos(angle), middle + radius * np.sin(angle)], 1)
        piece.curve("drawing", path, width * (0.4 + 1.6 * np.sin(math.pi * t)))
    piece.curve("drawing", [(middle, middle), (middle + 0.1, middle)], side * rng.uniform(0.1, 0.35))
    canvas = piece.canvas("drawing")
    if rng.random() < 0.25:
        return 1 - canvas  # white on black
    return np.maximum(canvas, canvas[:, ::-1])


def _initial(typography: Typography, rng: np.random.Generator, plate: Plate, box: Box) -> None:
    """A letter in a square of strokes or scrolls, or in a plain frame. The letter is text."""
    if not plate.sees(box):
        return
    face = typography.face(rng, style="heavy")
    letter = set_type(face, max(8, int(0.9 * box.height)), some_words(rng, face, 1)[0].upper())
    rows = np.flatnonzero(letter.max(1))
    letter = letter[rows[0] : rows[-1] + 1] if len(rows) else letter
    left = (box.left + box.right - letter.shape[1]) / 2
    top = (box.top + box.bottom - letter.shape[0]) / 2
    side = int(box.height)
    if rng.random() < 0.7:
        ground = engraving(rng, (side, side), rng.uniform(4, 9), dark=0.4)
        if rng.random() < 0.4:
            ground = np.tile(fleuron(rng, max(8, side // 3)), (4, 4))[:side, :side]
        plate.paste("drawing", np.ascontiguousarray(ground), box.left, box.top)
        halo = plate.overlay()
        halo.paste("drawing", letter, left, top)
        around = halo.canvas("drawing")
        for shift in ((3, 0), (-3, 0), (0, 3), (0, -3)):
            around = np.maximum(around, np.roll(halo.canvas("drawing"), shift, (0, 1)))
        canvas = plate.canvas("drawing")
        canvas *= 1 - around
    plate.rectangle("line", box, log_uniform(rng, 1, 5))
    plate.paste("text", letter, left, top)
