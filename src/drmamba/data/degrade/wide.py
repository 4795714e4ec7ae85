"""The random fields of `data.fields`, at a fraction of their cost where a region is wide.

Fine noise is put together from ready-made pieces, and smooth fields are made on a coarser grid. Up to
`PIECE` pixels the fields are those of `data.fields`.
"""

from __future__ import annotations

import numba
import numpy as np

from drmamba.data import fields
from drmamba.data.fields import FINE, TILE, Field

PIECE = TILE // 2  # pixels: up to this size `data.fields` cuts fine noise from a ready-made tile


def noise(rng: np.random.Generator, shape: tuple[int, int], cell: float | tuple[float, float]) -> Field:
    """Gaussian noise of about unit variance, smooth at the scale of `cell` pixels (down, across)."""
    if max(shape) <= PIECE or isinstance(cell, tuple):
        return fields.noise(rng, shape, cell)
    if cell < FINE:
        return _pieced(rng, shape, cell)
    step = max(2, int(cell // 4))
    return _enlarged(fields.noise(rng, _coarse(shape, step), cell / step), shape, step)


def white(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    """Gaussian noise of unit variance without any smoothness."""
    return _pieced(rng, shape, None)


def clouds(rng: np.random.Generator, shape: tuple[int, int], coarse: float, *, octaves: int = 3) -> Field:
    """Noise at `coarse` pixels and ever finer, each octave half the scale and half the height."""
    step = int(coarse / 2 ** (octaves - 1) // 4)
    if max(shape) > PIECE and step >= 2:
        small = fields.clouds(rng, _coarse(shape, step), coarse / step, octaves=octaves)
        return _enlarged(small, shape, step)
    total = noise(rng, shape, coarse)
    for octave in range(1, octaves):
        total += np.float32(0.5**octave) * noise(rng, shape, max(2.0, coarse / 2**octave))
    return total


def _pieced(rng: np.random.Generator, shape: tuple[int, int], cell: float | None) -> Field:
    """Fine noise from pieces side by side: where they meet cannot be seen, for nothing in it is long."""
    whole = np.empty(shape, np.float32)
    for top in range(0, shape[0], PIECE):
        for left in range(0, shape[1], PIECE):
            part = whole[top : top + PIECE, left : left + PIECE]
            size = part.shape[0], part.shape[1]
            part[:] = fields.white(rng, size) if cell is None else fields.noise(rng, size, cell)
    return whole


def _coarse(shape: tuple[int, int], step: int) -> tuple[int, int]:
    return shape[0] // step + 2, shape[1] // step + 2


def _enlarged(values: Field, shape: tuple[int, int], step: int) -> Field:
    """Every value becomes step x step pixels, interpolated linearly to the next one."""
    result: Field = _stretched(values, *shape, step)
    return result


@numba.njit(cache=True, nogil=True)
def _stretched(values: Field, height: int, width: int, step: int) -> Field:  # pragma: no cover - compiled
    result = np.empty((height, width), np.float32)
    across = np.empty(values.shape[1], np.float32)
    for y in range(height):
        row, down = y // step, np.float32((y % step) / step)
        for k in range(values.shape[1]):
            across[k] = values[row, k] + down * (values[row + 1, k] - values[row, k])
        for k in range((width + step - 1) // step):
            start, slope = across[k], (across[k + 1] - across[k]) / np.float32(step)
            for x in range(k * step, min(width, (k + 1) * step)):
                result[y, x] = start + slope * np.float32(x - k * step)
    return result
