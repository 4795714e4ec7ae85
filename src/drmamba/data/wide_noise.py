"""The random fields of `data.noise`, at a fraction of their cost where a region is wide.

Fine noise is assembled from precomputed pieces, and smooth fields are drawn on a coarser grid and interpolated.
Up to `PIECE` pixels the fields are those of `data.noise`.
"""

from __future__ import annotations

import numpy as np

from drmamba.compilation import compiled
from drmamba.data import noise as base
from drmamba.data.noise import FINE, TILE
from drmamba.data.page import Field

PIECE = TILE // 2  # pixels; up to this size `data.noise` cuts fine noise from a precomputed tile


def noise(rng: np.random.Generator, shape: tuple[int, int], cell: float | tuple[float, float]) -> Field:
    """Gaussian noise of about unit variance, smooth at the scale of `cell` pixels (down, across)."""
    if max(shape) <= PIECE or isinstance(cell, tuple):
        return base.noise(rng, shape, cell)
    if cell < FINE:
        return _pieced(rng, shape, cell)
    step = max(2, int(cell // 4))
    return _interpolated(base.noise(rng, _coarse(shape, step), cell / step), shape, step)


def white(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    """Gaussian noise of unit variance without any smoothness."""
    return _pieced(rng, shape, None)


def clouds(rng: np.random.Generator, shape: tuple[int, int], coarse: float, *, octaves: int = 3) -> Field:
    """Fractal noise: the first octave has cells of `coarse` pixels, each next one half the scale and amplitude."""
    step = int(coarse / 2 ** (octaves - 1) // 4)
    if max(shape) > PIECE and step >= 2:
        small = base.clouds(rng, _coarse(shape, step), coarse / step, octaves=octaves)
        return _interpolated(small, shape, step)
    return base.octave_sum(noise, rng, shape, coarse, octaves)


def _pieced(rng: np.random.Generator, shape: tuple[int, int], cell: float | None) -> Field:
    """Fine noise from pieces side by side; its structures are too small for a seam to show."""
    whole = np.empty(shape, np.float32)
    for top in range(0, shape[0], PIECE):
        for left in range(0, shape[1], PIECE):
            part = whole[top : top + PIECE, left : left + PIECE]
            size = part.shape[0], part.shape[1]
            part[:] = base.white(rng, size) if cell is None else base.noise(rng, size, cell)
    return whole


def _coarse(shape: tuple[int, int], step: int) -> tuple[int, int]:
    return shape[0] // step + 2, shape[1] // step + 2


def _interpolated(values: Field, shape: tuple[int, int], step: int) -> Field:
    """Linear interpolation from lattice points that lie `step` pixels apart to every pixel."""
    result: Field = _interpolate(values, *shape, step)
    return result


@compiled(nogil=True)
def _interpolate(values: Field, height: int, width: int, step: int) -> Field:  # pragma: no cover - compiled
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
