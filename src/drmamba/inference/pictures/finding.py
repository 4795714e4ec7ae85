"""Where a page has pictures in tone.

Between letters and lines paper shows; in a picture it does not, over an area much larger than a letter. A solid block
hides the paper as well, but is black; a stain or a shadow does, but it has no straight sides or its tone changes
slowly. Where the network has found writing there is no picture,
but a stained text. Pictures without a straight side and pictures that reach the edge of the page are not found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drmamba.inference.analysis.filters import Mask, labelled, opened
from drmamba.inference.analysis.strokes import Grey
from drmamba.inference.witness.structures import grown, highest, lowest, reduced

BLOCK, BLOCKS = 4, 4  # pixels of the reduced page in a block, whose mean counts, and blocks along a cell
CELL = BLOCK * BLOCKS  # pixels of the reduced page; in each cell the lightest block is looked for
HIDDEN = 0.85  # of the paper's grey level; paper is hidden in a cell that has no block lighter than this
LIGHTS = 0.92  # of the paper's grey level; cells up to this light belong to a picture that they touch
LEAST_SIDE = 3  # cells; paper is hidden in a whole square of this side
SMALLEST = 10  # cells; each side of a picture has so many
GAP = 5  # cells; lights of a picture narrower than this belong to it
LEAST_AREA = 0.01  # of the page; a smaller picture is an ornament
DARK, LEAST_DARK = 0.6, 0.2  # of the paper's grey level, and share of a picture's cells that are darker
MIDDLE, LEAST_MIDDLE = (
    (0.3, 0.8),
    0.5,
)  # of the paper's grey level, and share of a picture's blocks in between
LEAST_TEXTURE = 0.025  # of the paper's grey level; neighbouring cells of a picture differ by so much
LEAST_STEP = 0.1  # of the paper's grey level; so much lighter is the paper around a picture
STRAIGHT = 0.6  # of a side; so much of a straight side lies on one line
LONG_SIDE = 24  # cells; a longer side may be a little skewed, so that it lies on a line give or take a cell
LEAST_STRAIGHT = 1  # sides; a picture has so many straight ones
INK = 0.03  # of an area; with more of it, the network has found writing or the picture's own lines
FULL = 0.6  # of its box; a picture that fills more of it is the whole box
FITS = 4  # rounds in which the light of the paper is fitted

Shares = NDArray[np.float32]  # grey levels as shares of the paper's


@dataclass(frozen=True)
class Picture:
    """A picture: its box on the page, and which cells of the box belong to it."""

    left: int
    top: int
    right: int
    bottom: int
    cells: Mask
    cell: int  # pixels of the page along each side of a cell

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom in pixels of the page."""
        return self.left, self.top, self.right, self.bottom

    def mask(self, first: int, last: int) -> Mask:
        """Return which pixels between its left and right belong to the picture, in these rows of the page."""
        rows = np.minimum((np.arange(first, last) - self.top) // self.cell, len(self.cells) - 1)
        columns = np.minimum(np.arange(self.right - self.left) // self.cell, self.cells.shape[1] - 1)
        found: Mask = self.cells[rows][:, columns]
        return found


def find_pictures(grey: Grey, ink: Grey, reduction: int, height: int, width: int) -> tuple[Picture, ...]:
    """Return the pictures on a page; its grey levels and ink (255 is all ink) are reduced, height and width are not."""
    rows, columns = grey.shape[0] // CELL, grey.shape[1] // CELL
    if min(rows, columns) < 4 * LEAST_SIDE:
        return ()
    blocks = reduced(np.ascontiguousarray(grey[: rows * CELL, : columns * CELL]), BLOCK)
    blocks = blocks.reshape(rows, BLOCKS, columns, BLOCKS).transpose(0, 2, 1, 3)
    lightest = blocks.max((2, 3))
    paper = paper_light(lightest)
    light = np.asarray(lightest / paper, np.float32)
    hidden = opened(light < HIDDEN, LEAST_SIDE)
    if not hidden.any():
        return ()
    # Lights within a picture belong to it, so gaps are closed before parts are named.
    joined = hidden | lowest(grown(hidden, GAP).view(np.uint8), GAP).view(np.bool_)
    names, count = labelled(joined)
    inked = reduced(np.ascontiguousarray(ink[: rows * CELL, : columns * CELL]), CELL)
    lights = opened(light < LIGHTS, LEAST_SIDE)
    found = []
    for name in range(1, count + 1):
        part = names == name
        if np.count_nonzero(part) < LEAST_AREA * part.size:
            continue
        tones = np.asarray(blocks[part] / paper[part][:, None, None], np.float32)
        if np.mean(inked[part]) > INK * 255 or not _in_tone(part, light, tones):
            continue
        if _straight_sides(part) >= LEAST_STRAIGHT:
            found.append(_picture(_with_lights(part, lights), CELL * reduction, height, width))
    return tuple(found)


def paper_light(lightest: Grey) -> Shares:
    """Return the grey level of the paper in each cell: a surface of second order through the lightest cells."""
    y, x = (np.linspace(-1, 1, side, dtype=np.float32) for side in lightest.shape)
    terms = np.stack(
        [np.broadcast_to(term, lightest.shape) for term in (1.0, x, y[:, None], x * x, (y * y)[:, None])]
    ).reshape(5, -1)
    values = lightest.ravel().astype(np.float32)
    chosen = values >= np.percentile(values, 50)
    for _ in range(FITS):
        fitted = terms.T @ np.linalg.lstsq(terms[:, chosen].T, values[chosen], rcond=None)[0]
        chosen = np.abs(values - fitted) < 0.1 * fitted
        if np.count_nonzero(chosen) < 0.1 * chosen.size:
            break
    return np.asarray(np.clip(fitted, max(1.0, 0.5 * values.max()), 255), np.float32).reshape(lightest.shape)


def _in_tone(part: Mask, light: Shares, tones: Shares) -> bool:
    """Return whether a part of the page has the tones of a picture, and paper around it."""
    edges = part[0].any() or part[-1].any() or part[:, 0].any() or part[:, -1].any()
    if edges or np.mean(light[part] < DARK) < LEAST_DARK:
        return False
    if np.mean((tones > MIDDLE[0]) & (tones < MIDDLE[1])) < LEAST_MIDDLE:
        return False
    across = np.abs(np.diff(light, axis=1))[part[:, 1:] & part[:, :-1]]
    down = np.abs(np.diff(light, axis=0))[part[1:] & part[:-1]]
    if np.mean(np.concatenate([across, down])) < LEAST_TEXTURE:
        return False
    shown = (np.clip(light, 0, 1) * 255).astype(np.uint8)
    around = highest(np.where(grown(part, 3) & ~part, shown, 0).astype(np.uint8), 3)
    rim = part & (around > 0)
    return bool(rim.any() and np.median(around[rim] / 255 - light[rim]) >= LEAST_STEP)


def _with_lights(part: Mask, lights: Mask) -> Mask:
    """Return a picture with the light parts of it, unless they are larger than itself, as paper in shadow is."""
    names, _ = labelled(lights | part)
    whole = names == names[part].max()
    return whole if np.count_nonzero(whole) < 2 * np.count_nonzero(part) else part


def _straight_sides(part: Mask) -> int:
    """Return how many of the four sides of a part lie on a line; none if it is small."""
    count = 0
    for turned in (part, part[::-1], part.T, part.T[::-1]):
        first = turned.argmax(0)[turned.any(0)]
        if len(first) < SMALLEST:
            return 0
        near = np.abs(first - np.median(first)) <= (1 if len(first) > LONG_SIDE else 0)
        count += bool(np.mean(near) >= STRAIGHT)
    return count


def _picture(part: Mask, cell: int, height: int, width: int) -> Picture:
    rows, columns = np.nonzero(part.any(1))[0], np.nonzero(part.any(0))[0]
    top, left, bottom, right = int(rows[0]), int(columns[0]), int(rows[-1]) + 1, int(columns[-1]) + 1
    cells = part[top:bottom, left:right]
    if np.count_nonzero(cells) > FULL * cells.size:
        cells = np.ones_like(cells)
    # The outermost cells of a picture may show paper, so its box is half a cell larger on each side.
    half = cell // 2
    return Picture(
        max(0, left * cell - half),
        max(0, top * cell - half),
        min(right * cell + half, width),
        min(bottom * cell + half, height),
        cells,
        cell,
    )
