"""Perceptual hashes: which pages show the same sheet, although their files differ.

A page is reduced to a square of SIDE x SIDE cells, and each cell gives one bit: whether it is darker than its
surroundings. Picture and ink are hashed by themselves, so that a page is recognized by either: with another ground
truth by its picture, on another scan by its ink. Scale and compression change few bits. Flips and quarter turns are
compared by hashing one of the two pages in all eight orientations, and crops by hashing it without a margin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from drmamba.images import RGB, Ink

SIDE = 32  # cells along each side of the reduced page
FINE = 4 * SIDE  # pixels along each side of the reduced page from which crops are cut
SURROUNDINGS = 5  # cells along the side of the square with which a cell is compared
TRIMS = (0.0, 0.03, 0.06)  # shares of a side that a crop may have taken from each edge
MIN_CONTRAST = 1.0  # grey levels; a picture whose cells differ less, such as blank paper, has no hash
# The correlation of the bits above which two pages are the same. Of the 129 pages of the contests, no two different
# ones reach 0.56, and a page and its copy without 8 % of two sides still reach 0.69.
ALIKE = 0.63
BITS = SIDE * SIDE

Square = NDArray[np.float32]  # (FINE, FINE): a reduced page


@dataclass(frozen=True)
class Likeness:
    """The reduced picture and the reduced ink of a page; None if there is nothing on it to recognize it by."""

    label: str
    picture: Square | None
    ink: Square | None = None

    def hashes(self) -> tuple[str, ...]:
        """Return the hashes of the upright page in hexadecimal, for manifests and for models."""
        return tuple(
            np.packbits(_bits(square)).tobytes().hex()
            for square in (self.picture, self.ink)
            if square is not None
        )


def likeness(label: str, image: RGB, ink: Ink | None = None) -> Likeness:
    """Reduce a page; its ground truth is left out if it has none, like a texture."""
    picture = _reduced(Image.fromarray(image).convert("L"))
    written = None if ink is None else _reduced(Image.fromarray(np.where(ink, 0, 255).astype(np.uint8)))
    return Likeness(label, picture, written)


def _reduced(image: Image.Image) -> Square | None:
    square = np.asarray(image.resize((FINE, FINE), Image.Resampling.BOX), np.float32)
    cells = _cells(square)
    return square if float(np.abs(cells - _surroundings(cells)).mean()) >= MIN_CONTRAST else None


def _cells(square: Square) -> Square:
    """Return (SIDE, SIDE) means of a reduced page or of a part of one."""
    part = Image.fromarray(np.ascontiguousarray(square))
    return np.asarray(part.resize((SIDE, SIDE), Image.Resampling.BOX), np.float32)


def _surroundings(cells: Square) -> Square:
    mean: Square = ndimage.uniform_filter(cells, SURROUNDINGS, mode="nearest")
    return mean


def _bits(square: Square) -> NDArray[np.bool_]:
    cells = _cells(square)
    found: NDArray[np.bool_] = (cells < _surroundings(cells)).ravel()
    return found


def _views(square: Square) -> Iterator[NDArray[np.bool_]]:
    """Yield the bits of a page in all orientations, whole and without margins."""
    edges = [tuple(round(share * FINE) for share in trims) for trims in product(TRIMS, repeat=4)]
    for top, bottom, left, right in edges:
        cells = _bits(square[top : FINE - bottom, left : FINE - right]).reshape(SIDE, SIDE)
        for turns in range(4):  # A cell and its surroundings turn together.
            yield np.rot90(cells, turns).ravel()
            yield np.rot90(cells, turns)[:, ::-1].ravel()


def same_pages(seen: Sequence[Likeness], kept_apart: Sequence[Likeness]) -> list[tuple[str, str]]:
    """Return the labels of pages that are seen in training and resemble one that must be kept apart."""
    known = [(page.label, digest) for page in seen for digest in page.hashes()]
    found = {(label, page.label) for page in kept_apart for label in resembling(page, known)}
    # A crop among the pages kept apart is found from the other side.
    whole = [(page.label, digest) for page in kept_apart for digest in page.hashes()]
    return sorted(found | {(page.label, label) for page in seen for label in resembling(page, whole)})


def resembling(page: Likeness, known: Iterable[tuple[str, str]]) -> set[str]:
    """Return the labels of the hashes that are those of this page, or of a part of it, in any orientation."""
    known = [(label, digest) for label, digest in known if len(digest) == BITS // 4]
    squares = [square for square in (page.picture, page.ink) if square is not None]
    if not known or not squares:
        return set()
    digests = b"".join(bytes.fromhex(digest) for _, digest in known)
    other = _standard(np.unpackbits(np.frombuffer(digests, np.uint8)).reshape(-1, BITS))
    found = set()
    for square in squares:
        views = _standard(np.stack(list(_views(square))))
        best = (views @ other.T).max(0)  # the correlation of the best view
        found |= {label for (label, _), value in zip(known, best, strict=True) if value >= ALIKE}
    return found


def _standard(bits: NDArray[Any]) -> NDArray[np.float32]:
    """Return rows of bits with mean 0 and length 1, so that products of two of them are correlations.

    A share of equal bits would not do: pages with little ink agree in the cells where neither has any.
    """
    values = bits.astype(np.float32)
    values -= values.mean(1, keepdims=True)
    values /= np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-6)
    return values
