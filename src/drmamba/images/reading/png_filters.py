"""Undoing the five row filters of PNG; compiled, because each byte may depend on the one before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]


@njit(cache=True, nogil=True)
def unfilter(lines: Array, above: Array, step: int, rows: Array) -> bool:
    """Fill `rows` with the unfiltered lines; return False if a line has an unknown filter.

    lines: (n, 1 + bytes), each with the number of its filter first   above: (bytes,)   rows: (n, bytes)
    """
    count, width = rows.shape
    for y in range(count):
        kind = lines[y, 0]
        if kind > 4:
            return False
        up = above if y == 0 else rows[y - 1]
        for x in range(width):
            a = int(rows[y, x - step]) if x >= step else 0
            b = int(up[x])
            guess = 0
            if kind == 1:
                guess = a
            elif kind == 2:
                guess = b
            elif kind == 3:
                guess = (a + b) // 2
            elif kind == 4:
                c = int(up[x - step]) if x >= step else 0
                p = a + b - c
                pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
                guess = a if pa <= pb and pa <= pc else b if pb <= pc else c
            rows[y, x] = (int(lines[y, x + 1]) + guess) & 255
    return True
