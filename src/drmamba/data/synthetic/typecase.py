"""The type case: letters are drawn once per face and size, and lines are assembled from the stored letters.

Drawing a letter takes about fifty microseconds, because its outline is hinted; copying it takes two. A stored letter is
a "sort", the printers' word for a piece of type.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from drmamba.data.page import Field
from drmamba.data.synthetic.fonts import loaded, settable
from drmamba.data.synthetic.texts import RIGHT_TO_LEFT, SHAPED, Script

Pixels = TypeVar("Pixels", Field, NDArray[np.uint8])

LARGEST = 72  # pixels; larger letters are rare on a page and are not stored


class Face(NamedTuple):
    """A font file and the script that it is used for."""

    file: str
    script: Script


class Sort(NamedTuple):
    """A piece of type: its picture over the full height of the face, its horizontal offset, and its advance width."""

    picture: NDArray[np.uint8]
    offset: int
    advance: float


def set_type(face: Face, size: int, text: str) -> Field:
    """One line of text, as high as the face."""
    if size > LARGEST:
        return sort(face, size, text).picture * np.float32(1 / 255)
    # Letters of shaped scripts depend on their neighbours, so the smallest piece is a word.
    pieces = re.split("( )", text) if face.script in SHAPED else list(text)
    if face.script in RIGHT_TO_LEFT:
        pieces.reverse()
    sorts = [kept_sort(face, size, piece) for piece in pieces]
    starts = np.concatenate([[0.0], np.cumsum([s.advance for s in sorts])])
    places = [int(start + 0.5) + s.offset for start, s in zip(starts, sorts, strict=False)]
    lead = max(0, -min(places, default=0))
    reach = max((place + s.picture.shape[1] for place, s in zip(places, sorts, strict=True)), default=1)
    line = np.zeros((sum(metrics(face, size)), lead + max(1, reach)), np.uint8)
    for place, piece in zip(places, sorts, strict=True):
        there = line[:, lead + place : lead + place + piece.picture.shape[1]]
        np.maximum(there, piece.picture, out=there)
    return line * np.float32(1 / 255)


def sort(face: Face, size: int, text: str) -> Sort:
    """Letters drawn together as one piece of type."""
    font = loaded(face.file, size, face.script in SHAPED)
    ascent, descent = metrics(face, size)
    # One call takes half the time of measuring and then drawing.
    mask, (left, top) = font.getmask2(text, "L", anchor="ls")
    width, height = mask.size
    letters: NDArray[np.uint8] = np.frombuffer(bytes(mask), np.uint8).reshape(height, width)
    picture: NDArray[np.uint8] = np.zeros((ascent + descent, width), np.uint8)
    lay(picture, letters, 0, ascent + top)
    return Sort(picture, int(left), font.getlength(text))


def lay(page: Pixels, picture: Pixels, left: float, top: float) -> None:
    """Paste a picture of ink with its upper left corner at a position, which may lie outside the page.

    A pixel keeps its larger coverage.
    """
    y, x = round(top), round(left)
    rows = slice(max(0, y), min(page.shape[0], y + picture.shape[0]))
    columns = slice(max(0, x), min(page.shape[1], x + picture.shape[1]))
    if rows.start < rows.stop and columns.start < columns.stop:
        there = page[rows, columns]
        piece = picture[rows.start - y : rows.stop - y, columns.start - x : columns.stop - x]
        np.maximum(there, piece, out=there)


kept_sort = lru_cache(maxsize=1 << 16)(sort)


@lru_cache(maxsize=4096)
def metrics(face: Face, size: int) -> tuple[int, int]:
    """The ascent and descent of a face, in pixels."""
    ascent, descent = loaded(face.file, size, face.script in SHAPED).getmetrics()
    return max(1, ascent), descent


def some_words(rng: np.random.Generator, face: Face, count: int) -> str:
    """A number of consecutive words that the face can set, from a random one on."""
    vocabulary = settable(face.file, face.script)
    start = int(rng.integers(len(vocabulary)))
    between = "" if face.script == "cjk" else " "
    return between.join(vocabulary[(start + k) % len(vocabulary)] for k in range(count))
