"""Newspapers and title pages, which have the largest and the smallest type on one sheet."""

from __future__ import annotations

import numpy as np

from drmamba.data.synthetic.galley import Alignment, Galley, column, headline
from drmamba.data.synthetic.layers import Layer, printers_ink
from drmamba.data.synthetic.plate import Box, Plate
from drmamba.data.synthetic.typecase import Face
from drmamba.data.synthetic.typography import Typography, log_uniform


def newspaper(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """Columns of small print between rules, below headlines with strokes of up to 60 pixels."""
    page = plate.page
    script = typography.script(rng)
    face, heavy = typography.face(rng, script), typography.face(rng, script, style="heavy")
    size = int(log_uniform(rng, 8, 22))
    count = max(1, round(page.width / (size * rng.uniform(13, 24))))
    step, gutter = page.width / count, size * rng.uniform(0.5, 1.2)
    galley = Galley(rng, face, size, plate, step)
    pitch = size * rng.uniform(1.0, 1.3)
    ruled = rng.random() < 0.75
    thin = rng.uniform(0.8, 2.2)
    top = page.top
    if rng.random() < 0.6:
        top = _masthead(typography, rng, plate, heavy, galley, top)
    while top < page.bottom:
        bottom = min(page.bottom, top + rng.uniform(0.25, 0.9) * max(page.height, 500))
        first = 0
        while first < count:
            wide = int(rng.integers(1, count - first + 1))
            box = Box(page.left + first * step, top, page.left + (first + wide) * step, bottom)
            _article(rng, plate, galley, heavy, box, wide, gutter, pitch)
            if ruled:
                for k in range(1, wide):
                    x = box.left + k * step
                    start = top + rng.uniform(0, 0.3) * box.height if wide > 1 else top
                    plate.line("line", (x, start), (x, bottom - 2), thin)
                if first:
                    plate.line("line", (box.left, top), (box.left, bottom - 2), thin)
            first += wide
        _divider(rng, plate, Box(page.left, bottom, page.right, bottom + 8), thin)
        top = bottom + size * rng.uniform(0.6, 1.5)
    return plate.layers(printers_ink(rng, size), rng, rng.uniform(0, 0.6) * min(1, size / 20))


def _masthead(
    typography: Typography, rng: np.random.Generator, plate: Plate, face: Face, galley: Galley, top: float
) -> float:
    """Set the newspaper's name across the sheet and its date between rules; returns the position below them."""
    page = plate.page
    name = typography.face(rng, face.script, style="heavy")
    top += headline(plate, rng, name, page._replace(top=top), int(log_uniform(rng, 60, 300)))
    width = rng.uniform(1, 5)
    plate.line("line", (page.left, top), (page.right, top), width)
    date = galley.line(rng, 0.6 * page.width)
    plate.paste("text", date, (page.left + page.right - date.shape[1]) / 2, top + width + 2)
    top += width + galley.height + 6
    plate.line("line", (page.left, top), (page.right, top), rng.uniform(0.8, 2))
    return top + rng.uniform(4, 14)


def _article(
    rng: np.random.Generator,
    plate: Plate,
    galley: Galley,
    heavy: Face,
    box: Box,
    columns: int,
    gutter: float,
    pitch: float,
) -> None:
    """A headline over one or several columns, sometimes a second one in smaller type, then small print."""
    top = box.top + 3
    if rng.random() < 0.8:
        size = int(min(log_uniform(rng, 18, 320), 0.8 * box.width, 0.7 * box.height) + 6)
        span = Box(box.left + gutter / 2, top, box.right - gutter / 2, box.bottom)
        for _ in range(int(rng.integers(1, 3))):
            top += headline(plate, rng, heavy, span._replace(top=top), size, centred=rng.random() < 0.7)
            size = max(galley.size + 2, int(size * rng.uniform(0.3, 0.8)))
        top += 0.3 * galley.size
    step = box.width / columns
    for k in range(columns):
        left = box.left + k * step + gutter / 2
        column(
            plate, galley, rng, Box(left, top, left + step - gutter, box.bottom - galley.size), pitch=pitch
        )


def _divider(rng: np.random.Generator, plate: Plate, box: Box, width: float) -> None:
    """A rule across the page, a thick and a thin one together, or a short one in the middle."""
    draw = rng.random()
    middle, reach = (box.left + box.right) / 2, box.width * (0.5 if draw < 0.7 else rng.uniform(0.05, 0.2))
    plate.line("line", (middle - reach, box.top), (middle + reach, box.top), width)
    if draw < 0.3:
        thick = rng.uniform(2, 6)
        y = box.top + width / 2 + thick
        plate.line("line", (middle - reach, y), (middle + reach, y), thick)


def title(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """A title in huge letters, lines of every size below it, and tiny print at the foot of the sheet."""
    page = plate.page
    script = typography.script(rng)
    faces = [
        typography.face(rng, script),
        typography.face(rng, script, style="heavy"),
        typography.face(rng, script),
    ]
    # The window may lie below the first lines, so that it shows the largest, the medium or the smallest type.
    top = page.top + rng.uniform(0.0, 0.05) * page.height
    size = log_uniform(rng, 60, 330)
    small = int(log_uniform(rng, 7, 14))
    rule = rng.uniform(0.8, 4)
    while size > 1.6 * small and top < page.bottom - size:
        face = faces[int(rng.integers(3))]
        top += headline(plate, rng, face, page._replace(top=top), int(size)) * rng.uniform(0.9, 1.4)
        if rng.random() < 0.3:
            half = rng.uniform(0.06, 0.5) * page.width
            middle = (page.left + page.right) / 2
            plate.line("line", (middle - half, top), (middle + half, top), rule)
            top += rng.uniform(6, 20)
        size *= rng.uniform(0.3, 0.95)
    galley = Galley(rng, faces[0], small, plate, page.width)
    box = Box(page.left, top + small, page.right, page.bottom).inset(rng.uniform(0, 0.15) * page.width, 0)
    if box.height > 2 * small and box.width > 6 * small:
        alignment: Alignment = rng.choice(("justified", "centre", "left"))
        column(plate, galley, rng, box, pitch=small * rng.uniform(1.05, 1.5), alignment=alignment)
    return plate.layers(printers_ink(rng, small), rng, rng.uniform(0, 0.4) * min(1, small / 12))
