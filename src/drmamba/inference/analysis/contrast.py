"""The contrast of a window, by which blank windows are recognised.

Paper is uneven at large, and a scanner adds noise to every pixel; a stroke is neither. So pixels are averaged two by
two, which halves the noise, and compared within cells of 32 pixels, over which light hardly changes. Cells overlap by
half, so that no edge falls between two. docs/performance.md says how far the faintest ink lies above the limit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.images import RGB

AVERAGED = 2  # pixels along each side of the square that is averaged
HALF_CELL = 8  # averages along each side of half a cell, which is 16 pixels


def contrast(window: RGB) -> int:
    """Return the largest spread of any colour channel within a cell, in levels of 255; the whole of a small window."""
    if min(window.shape[:2]) < 2 * HALF_CELL * AVERAGED:
        return int(np.max(window.max(axis=(0, 1)).astype(np.int16) - window.min(axis=(0, 1))))
    means = np.asarray(Image.fromarray(window).reduce(AVERAGED))
    spread = _over_cells(means, np.maximum).astype(np.int16) - _over_cells(means, np.minimum)
    return int(spread.max())


def _over_cells(means: NDArray[np.uint8], extreme: np.ufunc) -> NDArray[np.uint8]:
    """Return the largest or smallest mean of each cell, (rows, columns, 3)."""
    found = means
    for axis in (0, 1):
        halves = extreme.reduceat(found, np.arange(0, found.shape[axis], HALF_CELL), axis=axis)
        first, second = np.arange(halves.shape[axis] - 1), np.arange(1, halves.shape[axis])
        found = extreme(halves.take(first, axis), halves.take(second, axis))
    return found
