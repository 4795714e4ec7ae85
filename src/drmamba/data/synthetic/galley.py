"""Galleys: long strips of typeset text that are drawn once, and from which the lines of columns are cut."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from drmamba.data.page import Field
from drmamba.data.synthetic.plate import Box, Plate
from drmamba.data.synthetic.texts import RIGHT_TO_LEFT
from drmamba.data.synthetic.typecase import Face, set_type, some_words

SMALLEST = 7  # pixels; headlines that are too long are set no smaller than this
MOST = 10  # strips per galley; more would cost time, and the network does not read the text
Alignment = Literal["left", "right", "centre", "justified"]


class Galley:
    """Strips of text in one face and size, to be cut into lines at the gaps between words."""

    def __init__(self, rng: np.random.Generator, face: Face, size: int, plate: Plate, width: float) -> None:
        width = min(width, plate.shape[1] + 6 * size)  # longer lines are set only where they are visible
        lines = round(plate.shape[0] / size)
        self.face, self.size = face, size
        # A strip is some words longer than a line, so that lines begin at different words.
        words = max(3, round((width / size + 8) / 2.4))
        self.strips = [
            set_type(face, size, some_words(rng, face, words)) for _ in range(max(1, min(MOST, lines)))
        ]
        self.gaps = [_gaps(strip, 0.16 * size) for strip in self.strips]
        self.height = self.strips[0].shape[0]

    def line(self, rng: np.random.Generator, width: float, *, justified: bool = False) -> Field:
        """A line of words, at most `width` pixels wide; `justified` ones are spaced out to the full width."""
        number = int(rng.integers(len(self.strips)))
        strip, gaps = self.strips[number], self.gaps[number]
        room = int(width)
        first = int(rng.integers(1 + np.searchsorted(gaps, max(0, strip.shape[1] - room))))
        start = int(gaps[first - 1]) if first else 0
        ends = gaps[(gaps > start) & (gaps <= start + room)]
        if not len(ends):
            return strip[:, start : start + room]
        line = strip[:, start : int(ends[-1])]
        slack = room - line.shape[1]
        if justified and len(ends) > 1 and slack < 0.25 * room:
            places = np.resize(ends[:-1], slack) - start
            line = np.insert(line, np.sort(places), 0, axis=1)
        return line


def _gaps(strip: Field, least: float) -> NDArray[np.int64]:
    """The middle of every run of blank columns that is wide enough, or of every run if fewer than three are."""
    blank = np.concatenate([[False], strip.max(0) < 0.1, [False]])
    edges = np.flatnonzero(blank[1:] != blank[:-1])
    begins, ends = edges[::2], edges[1::2]
    wide = ends - begins >= least
    if wide.sum() >= 3:
        begins, ends = begins[wide], ends[wide]
    return (begins + ends) // 2


def column(
    plate: Plate,
    galley: Galley,
    rng: np.random.Generator,
    box: Box,
    *,
    pitch: float,
    alignment: Alignment = "justified",
    paragraphs: float = 0.12,
) -> None:
    """Fill a box with lines; the share `paragraphs` of them end a paragraph, and the line after is indented."""
    mirrored = galley.face.script in RIGHT_TO_LEFT
    window = plate.window
    # A line longer than the window is set only where it is visible, and a little beyond.
    seen = Box(
        max(box.left, window.left - 3 * galley.size),
        box.top,
        min(box.right, window.right + 3 * galley.size),
        box.bottom,
    )
    indented = True
    top = box.top
    while top + galley.size <= box.bottom:
        ends = rng.random() < paragraphs
        if plate.sees(Box(box.left, top, box.right, top + galley.height)):
            indent = galley.size * 1.2 if indented and alignment == "justified" else 0.0
            room = seen.width - indent
            if ends:
                room *= rng.uniform(0.2, 0.9)
            line = galley.line(rng, room, justified=alignment == "justified" and not ends)
            slack = seen.width - line.shape[1]
            place = {"right": slack, "centre": slack / 2}.get(alignment, indent)
            if mirrored and alignment in ("left", "justified"):
                place = slack - indent
            plate.paste("text", line, seen.left + place, top)
        indented = ends
        top += pitch


def headline(
    plate: Plate, rng: np.random.Generator, face: Face, box: Box, size: int, *, centred: bool = True
) -> float:
    """Set a line of words in large type at the top of a box; returns its height.

    Words that are longer than the box are set smaller.
    """
    if not plate.sees(Box(box.left, box.top, box.right, box.top + 1.6 * size)):
        return 1.3 * size
    text = some_words(rng, face, 1 + int(rng.uniform(0.7, 1.0) * box.width / size / 2.9))
    if rng.random() < 0.5:
        text = text.upper()
    picture = set_type(face, size, text)
    if picture.shape[1] > box.width:  # otherwise it would run over the edges of the page
        picture = set_type(face, max(SMALLEST, int(size * box.width / picture.shape[1])), text)
    picture = picture[:, : max(1, int(box.width))]
    left = (box.left + box.right - picture.shape[1]) / 2 if centred else box.left
    plate.paste("text", picture, left, box.top)
    return float(picture.shape[0])
