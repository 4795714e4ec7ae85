"""Tables: rows and columns of words and figures between rules of different widths."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from drmamba.data.page import Field
from drmamba.data.synthetic.galley import Galley, column, headline
from drmamba.data.synthetic.layers import Layer, printers_ink
from drmamba.data.synthetic.plate import Box, Plate
from drmamba.data.synthetic.typecase import Face, set_type
from drmamba.data.synthetic.typography import Typography, log_uniform

DOUBLE = 3.0  # distance of a double rule's two lines, in widths of the rule


def table(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """A table below a heading or a paragraph, with all rules, only horizontal or vertical ones, or a frame."""
    page = plate.page
    script = typography.script(rng)
    face, heavy = typography.face(rng, script), typography.face(rng, script, style="heavy")
    size = int(log_uniform(rng, 9, 34))
    galley = Galley(rng, face, size, plate, page.width)
    top = page.top
    if rng.random() < 0.5:
        top += headline(plate, rng, heavy, page._replace(top=top), int(size * rng.uniform(1, 3))) + size
    if rng.random() < 0.3:
        lines = int(rng.integers(1, 8)) * 1.3 * size
        column(plate, galley, rng, page._replace(top=top, bottom=top + lines), pitch=1.3 * size)
        top += lines + size
    bottom = page.bottom - rng.uniform(0, 0.3) * page.height if rng.random() < 0.3 else page.bottom
    box = Box(page.left, top, page.right, bottom).inset(rng.uniform(0, 0.05) * page.width, 0)
    if box.height > 3 * size:
        # Fonts of one script often have no figures.
        figures = face if face.script == "latin" else typography.face(rng)
        ruled(plate, rng, box, galley, heavy, figures)
    return plate.layers(printers_ink(rng, size), rng, rng.uniform(0, 0.5) * min(1, size / 20))


def ruled(
    plate: Plate, rng: np.random.Generator, box: Box, galley: Galley, heavy: Face, figure_face: Face
) -> None:
    """Fill a box with the rules, the head and the cells of a table; `heavy` is the face of the head."""
    size = galley.size
    downs = _edges(rng, box.left, box.right, 3 * size, 14 * size)
    head = box.top + size * rng.uniform(1.6, 4)
    height = size * rng.uniform(1.2, 2.4)
    count = max(1, int((box.bottom - head) / height))
    acrosses = head + height * np.arange(count + 1)
    box = box._replace(bottom=float(acrosses[-1]))
    thin, thick = rng.uniform(0.8, 2.6), rng.uniform(1.5, 6)
    every = int(rng.choice((1, 1, 2, 5, 10_000)))  # rows between rules
    style = rng.random()
    if style < 0.75:  # down
        doubled = rng.random(len(downs)) < 0.15
        for x, double in zip(downs, doubled, strict=True):
            plate.line("line", (x, box.top), (x, box.bottom), thin)
            if double:
                plate.line("line", (x + DOUBLE * thin, box.top), (x + DOUBLE * thin, box.bottom), thin)
    if style < 0.5 or style > 0.75:  # across
        for y in acrosses[every::every]:
            plate.line("line", (box.left, y), (box.right, y), thin)
    if rng.random() < 0.7:
        plate.rectangle("line", box, thick)
    for y in (box.top, head):
        plate.line("line", (box.left, y), (box.right, y), thick)
    figures = [set_type(figure_face, size, figure(rng)) for _ in range(12)]
    for left, right in pairwise(downs):
        cell = Box(left, box.top, right, head).inset(0.4 * size, 0)
        if cell.width > 2 * size and plate.sees(cell):
            label = Galley(rng, heavy, max(7, int(size * rng.uniform(0.7, 1))), plate, cell.width)
            column(plate, label, rng, cell.inset(0, 2), pitch=label.size * 1.15, alignment="centre")
        _cells(plate, rng, galley, figures, Box(left, head, right, box.bottom), acrosses, height)


def _cells(
    plate: Plate,
    rng: np.random.Generator,
    galley: Galley,
    figures: list[Field],
    box: Box,
    tops: np.ndarray,
    height: float,
) -> None:
    """One column of cells with words or figures, of which some are empty."""
    size = galley.size
    kind = rng.random()
    pad = 0.4 * size
    for top in tops[:-1]:
        if rng.random() < 0.08 or not plate.sees(Box(box.left, top, box.right, top + height)):
            continue
        place = top + (height - galley.height) / 2
        if kind < 0.4 and box.width > 4 * size:
            words = galley.line(rng, box.width - 2 * pad)
            plate.paste("text", words, box.left + pad, place)
            if kind < 0.12:
                dots(plate, (box.left + 2 * pad + words.shape[1], box.right - pad), top + 0.75 * height, size)
        else:
            number = figures[int(rng.integers(len(figures)))]
            if number.shape[1] < box.width - pad:
                plate.paste("text", number, box.right - pad - number.shape[1], place)


def dots(plate: Plate, span: tuple[float, float], y: float, size: float) -> None:
    """Leaders: a line of dots from a word to its figure. They are part of the text."""
    for x in np.arange(span[0], span[1], 0.6 * size):
        radius = max(1.2, 0.1 * size)
        plate.curve("text", [(x, y), (x + 0.1, y)], radius)


def figure(rng: np.random.Generator) -> str:
    """A random number as in accounts."""
    whole = str(int(log_uniform(rng, 1, 99_999)))
    draw = rng.random()
    if draw < 0.4:
        return whole
    return f"{whole}.{rng.integers(100):02d}" if draw < 0.8 else f"{whole} {rng.integers(1, 12)}"


def _edges(rng: np.random.Generator, start: float, end: float, least: float, most: float) -> list[float]:
    """The edges of columns of random width that fill a box."""
    edges = [start]
    while edges[-1] + 1.5 * least < end:
        edges.append(edges[-1] + log_uniform(rng, least, most))
    if len(edges) > 1 and edges[-1] > end - 0.5 * least:
        edges.pop()
    return [*edges, end]
