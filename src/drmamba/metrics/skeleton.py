"""The skeleton of the contest's weights: Zhang and Suen's thinning (1984), then Lee and Chen's clean-up (1992).

It is written here because scipy has no thinning, and other libraries' skeletons differ from the contest's in single
pixels, which would change its weight maps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drmamba.compilation import compiled

Mask = NDArray[np.bool_]

# A neighbourhood is one byte: bit k is the k-th neighbour, clockwise from north.
_EAST, _SOUTH, _WEST = 2, 4, 6


def _bits(code: int) -> list[int]:
    return [code >> k & 1 for k in range(8)]


def _crossings(ring: list[int]) -> int:
    """The number of changes from paper to ink around the pixel."""
    return sum(not ring[k] and ring[(k + 1) % 8] for k in range(8))


def _zhang_suen(code: int, phase: int) -> bool:
    """Whether Zhang and Suen's first (0) or second (1) half-step removes the pixel."""
    ring = _bits(code)
    north, east, south, west = ring[0], ring[_EAST], ring[_SOUTH], ring[_WEST]
    if not 2 <= sum(ring) <= 6 or _crossings(ring) != 1:
        return False
    if phase == 0:
        return not (east and south and (north or west))
    return not (north and west and (east or south))


def _simple(code: int) -> bool:
    """Whether the pixel is not an end point and its removal preserves 8-connectivity."""
    paper = [1 - bit for bit in _bits(code)]
    gaps = sum(paper[k] - paper[k] * paper[k + 1] * paper[(k + 2) % 8] for k in (0, 2, 4, 6))
    return gaps == 1 and sum(paper) <= 6


def _clean_up(code: int) -> bool:
    """Lee and Chen's Table 1: a simple pixel is removed, unless Zhang and Suen's rule covers it.

    Four of its 256 entries do not follow that rule; the contest's maps need them as they are here.
    """
    if code in (0x0E, 0xE0):  # the three pixels to the east, or to the west
        return True
    if code in (0x15, 0x51):  # a vertical line with a junction to the east or west
        return False
    return _simple(code) and not (_zhang_suen(code, 0) or _zhang_suen(code, 1))


_REMOVE = np.array(
    [
        [_zhang_suen(code, 0) for code in range(256)],
        [_zhang_suen(code, 1) for code in range(256)],
        [_clean_up(code) for code in range(256)],
    ]
)


@compiled(nogil=True)
def _erase(pixel: int, alive: Any, codes: Any, steps: Any) -> None:
    """Remove one pixel and update its eight neighbours."""
    alive[pixel] = False
    for k in range(8):
        codes[pixel + steps[k]] &= 255 ^ (1 << ((k + 4) & 7))


@compiled(nogil=True)
def _thin(alive: Any, stride: int, remove: Any) -> None:
    """Thin a flat mask with an empty margin of one pixel, in place.

    A pixel is examined again only after one of its neighbours was removed, so the cost of a pass is the moving front
    and not the page.
    """
    steps = np.array([-stride, 1 - stride, 1, stride + 1, stride, stride - 1, -1, -stride - 1])
    codes = np.zeros(alive.size, np.uint8)
    pending = np.zeros(alive.size, np.uint8)  # bit s is set while the pixel waits for half-step s
    room = 0
    for pixel in range(alive.size):
        if alive[pixel]:
            room += 1
            for k in range(8):
                codes[pixel] |= alive[pixel + steps[k]] << k
    queues = np.empty((2, room), np.int32)
    doomed = np.empty(room, np.int32)
    waiting = np.zeros(2, np.int64)
    for pixel in range(alive.size):
        if alive[pixel] and codes[pixel] != 255:
            pending[pixel] = 3
            for phase in range(2):
                queues[phase, waiting[phase]] = pixel
                waiting[phase] += 1

    while waiting[0] or waiting[1]:
        for phase in range(2):
            count = 0
            for k in range(waiting[phase]):
                pixel = queues[phase, k]
                pending[pixel] &= 3 ^ (1 << phase)
                if alive[pixel] and remove[phase, codes[pixel]]:
                    doomed[count] = pixel
                    count += 1
            waiting[phase] = 0
            for k in range(count):  # all at once, because the test above used the state before this half-step
                _erase(doomed[k], alive, codes, steps)
            for k in range(count):
                for j in range(8):
                    other = doomed[k] + steps[j]
                    if alive[other] and pending[other] != 3:
                        for queue in range(2):
                            if not pending[other] >> queue & 1:
                                queues[queue, waiting[queue]] = other
                                waiting[queue] += 1
                        pending[other] = 3

    count = 0
    for pixel in range(alive.size):
        if alive[pixel]:
            doomed[count] = pixel
            count += 1
    changed = True
    while changed:  # one pixel after the other, each with the earlier ones removed
        changed = False
        for k in range(count):
            pixel = doomed[k]
            if alive[pixel] and remove[2, codes[pixel]]:
                _erase(pixel, alive, codes, steps)
                changed = True


def thin(mask: Mask) -> Mask:
    """The skeleton of a mask; pixels outside the picture count as empty."""
    padded = np.pad(mask, 1)
    _thin(padded.reshape(-1), padded.shape[1], _REMOVE)
    return np.ascontiguousarray(padded[1:-1, 1:-1])
