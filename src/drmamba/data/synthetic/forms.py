"""Printed forms filled in by hand, and ledgers: rules and boxes with handwriting in and across them."""

from __future__ import annotations

import numpy as np

from drmamba.data.synthetic.galley import Galley, headline
from drmamba.data.synthetic.layers import COLOURED, Layer, Tone, ink_tone, printers_ink
from drmamba.data.synthetic.pen import Hand, Points, line_of_words, trace
from drmamba.data.synthetic.plate import Box, Plate, shifted
from drmamba.data.synthetic.tables import figure
from drmamba.data.synthetic.typecase import set_type
from drmamba.data.synthetic.typography import Typography, log_uniform, random_hand


def form(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """Printed boxes, lines and small labels, and handwritten words that do not always stay inside them."""
    page, script = plate.page, typography.script(rng)
    face, heavy = typography.face(rng, script), typography.face(rng, script, style="heavy")
    size, writer = int(log_uniform(rng, 8, 20)), random_hand(rng, 8, 20)
    galley = Galley(rng, face, size, plate, 0.4 * page.width)
    rule = rng.uniform(0.8, 3)
    height = max(3.6 * writer.x_height, 2.6 * size) * rng.uniform(0.9, 1.4)
    strokes: list[Points] = []
    top = page.top
    if rng.random() < 0.6:
        top += headline(plate, rng, heavy, page._replace(top=top), int(size * rng.uniform(1.5, 4))) + size
    boxed = rng.random() < 0.6
    while top + height < page.bottom:
        cells = int(rng.integers(1, 4))
        for k in range(cells):
            step = page.width / cells
            cell = Box(page.left + k * step, top, page.left + (k + 1) * step, top + height)
            if plate.sees(cell):
                strokes += _field(rng, plate, galley, writer, cell, rule, boxed)
        top += height
        if rng.random() < 0.1:
            top += size * rng.uniform(1, 3)
            boxed = rng.random() < 0.6
    return plate.layers(printers_ink(rng, size), rng, rng.uniform(0, 0.4)) + handwriting(
        rng, plate, writer, strokes
    )


def _field(
    rng: np.random.Generator, plate: Plate, galley: Galley, writer: Hand, cell: Box, rule: float, boxed: bool
) -> list[Points]:
    """Print a box with a label in its corner, or a label followed by a line; returns the handwritten strokes."""
    label = galley.line(rng, rng.uniform(0.2, 0.5) * cell.width)
    base = cell.bottom - writer.x_height * rng.uniform(0.6, 1.1)
    if boxed:
        plate.rectangle("line", cell, rule)
        plate.paste("text", label, cell.left + 4, cell.top + 1)
        left = cell.left + 0.5 * galley.size
    else:
        plate.paste("text", label, cell.left, base - 0.75 * galley.height)
        left = cell.left + label.shape[1] + 4
        if rng.random() < 0.5:
            plate.line("line", (left, base + 2), (cell.right - 6, base + 2), rule)
        else:
            for x in np.arange(left, cell.right - 6, max(4.0, 0.5 * galley.size)):
                plate.curve("line", [(x, base + 2), (x + 0.1, base + 2)], max(1.3, rule))
    if rng.random() < 0.12:  # boxes to tick
        side = galley.size * rng.uniform(0.9, 1.5)
        for k in range(int(rng.integers(1, 4))):
            x = left + k * 4 * side
            plate.rectangle("line", Box(x, base - side, x + side, base), rule)
        return []
    if rng.random() < 0.15:
        return []
    right = left + (cell.right - left) * rng.uniform(0.2, 0.75)
    return line_of_words(writer, rng, (left, right), base, rng.normal(0, 0.01))


def ledger(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """An account book: horizontal rules, coloured vertical rules, handwritten entries and columns of figures."""
    page = plate.page
    writer = random_hand(rng)
    pitch = writer.x_height * rng.uniform(2.4, 3.6)
    rule = rng.uniform(1.0, 2.2)
    downs = plate.overlay()
    tops = np.arange(page.top + 2 * pitch, page.bottom, pitch)
    for y in tops:
        plate.line("line", (page.left, y), (page.right, y), rule)
    x = page.left + rng.uniform(0.06, 0.15) * page.width
    sums = page.right - page.width * rng.uniform(0.18, 0.4)
    for place in [x, *np.linspace(sums, page.right - 4, int(rng.integers(2, 6)))]:
        downs.line("line", (place, page.top), (place, page.bottom), rule)
        if rng.random() < 0.4:
            downs.line("line", (place + 3.5 * rule, page.top), (place + 3.5 * rule, page.bottom), rule)
    face = typography.face(rng, written=True)
    size = max(8, int(2.1 * writer.x_height))
    sheet = plate.overlay()
    strokes: list[Points] = []
    for y in tops[1:]:
        if rng.random() < 0.12 or not plate.sees(Box(page.left, y - 3 * writer.x_height, page.right, y + 9)):
            continue
        right = x + (sums - x) * rng.uniform(0.3, 0.9)
        strokes += line_of_words(writer, rng, (x + 6, right), y - rng.uniform(0, 0.4) * writer.x_height, 0.0)
        if rng.random() < 0.85:
            number = set_type(face, size, figure(rng))
            sheet.paste("text", number, page.right - number.shape[1] - rng.uniform(4, 30), y - 0.95 * size)
    across, down = (_ruling_ink(rng) for _ in range(2))
    ink = ink_tone(rng, soot=rng.random() < 0.4)
    return [
        *plate.layers(across, rng, rng.uniform(0, 0.3)),
        *downs.layers(down, rng, 0.0),
        *sheet.layers(ink, rng, 0.2),
        *handwriting(rng, plate, writer, strokes, ink),
    ]


def _ruling_ink(rng: np.random.Generator) -> Tone:
    """The ink of printed rules: coloured and pale, or that of the writing."""
    if rng.random() < 0.6:
        coloured = rng.uniform(0.4, 0.9) * np.array(COLOURED[int(rng.integers(len(COLOURED)))])
        return np.maximum(coloured, 0.25).astype(np.float32)
    tone: Tone = np.maximum(ink_tone(rng) * np.float32(rng.uniform(0.6, 1)), np.float32(0.4))
    return tone


def handwriting(
    rng: np.random.Generator,
    plate: Plate,
    writer: Hand,
    strokes: list[Points],
    dark: np.ndarray | None = None,
) -> list[Layer]:
    """Handwritten strokes as a layer of text; no layer if there are no strokes."""
    if not strokes:
        return []
    page = np.zeros(plate.shape, np.float32)
    trace(page, shifted(strokes, plate), writer)
    return [Layer(page, ink_tone(rng) if dark is None else dark)]
