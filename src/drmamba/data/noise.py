"""Smooth random fields, cheap enough to make for every crop.

`data.wide_noise` makes the same kinds of fields for regions that are larger than the tiles here allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np

from drmamba.data.page import Field

TILE = 1024  # side in pixels of the precomputed tiles of fine noise
FINE = 4.5  # pixels; noise with smaller cells is cut from a precomputed tile


def noise(rng: np.random.Generator, shape: tuple[int, int], cell: float | tuple[float, float]) -> Field:
    """Gaussian noise of unit variance or a little less, smooth at the scale of `cell` pixels (down, across).

    It is drawn on a coarse lattice and interpolated, which costs far less than filtering at full size.
    """
    down, across = cell if isinstance(cell, tuple) else (cell, cell)
    if down == across < FINE and max(shape) <= TILE // 2:
        return _piece(_tile(round(2 * down)), rng, shape)
    return _interpolated(rng, shape, down, across)


def white(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    """Gaussian noise of unit variance without any smoothness."""
    if max(shape) <= TILE // 2:
        return _piece(_tile(0), rng, shape)
    return rng.standard_normal(shape, dtype=np.float32)


def _piece(tile: Field, rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    """A random window of a tile, mirrored and negated at random."""
    draws = rng.integers(0, (TILE - shape[0] + 1, TILE - shape[1] + 1, 8))
    top, left, turn = int(draws[0]), int(draws[1]), int(draws[2])
    piece = tile[top : top + shape[0], left : left + shape[1]]
    piece = piece[:: -1 if turn & 1 else 1, :: -1 if turn & 2 else 1]
    return -piece if turn & 4 else piece.copy()


@cache
def _tile(half_cells: int) -> Field:
    """A tile of fine noise, made once because drawing it anew would dominate the cost of a crop."""
    rng = np.random.default_rng(half_cells)
    if half_cells == 0:
        return rng.standard_normal((TILE, TILE), dtype=np.float32)
    return _interpolated(rng, (TILE, TILE), half_cells / 2, half_cells / 2)


def _interpolated(rng: np.random.Generator, shape: tuple[int, int], down: float, across: float) -> Field:
    rows = _spline(shape[0], max(1, round(shape[0] / down)))
    columns = _spline(shape[1], max(1, round(shape[1] / across)))
    lattice = rng.standard_normal((rows.shape[1], columns.shape[1]), dtype=np.float32)
    return np.asarray(rows @ lattice @ columns.T, np.float32)


@lru_cache(maxsize=256)
def _spline(size: int, cells: int) -> Field:
    """Catmull-Rom interpolation from cells + 3 lattice points to `size` pixels, as a matrix."""
    place = (np.arange(size) + 0.5) * (cells / size)
    first = np.minimum(place.astype(np.int64), cells - 1)
    t = place - first
    weights = (
        -0.5 * t**3 + t**2 - 0.5 * t,
        1.5 * t**3 - 2.5 * t**2 + 1,
        -1.5 * t**3 + 2 * t**2 + 0.5 * t,
        0.5 * t**3 - 0.5 * t**2,
    )
    matrix = np.zeros((size, cells + 3), np.float32)
    for k, weight in enumerate(weights):
        matrix[np.arange(size), first + k] = weight
    return matrix


def clouds(rng: np.random.Generator, shape: tuple[int, int], coarse: float, *, octaves: int = 3) -> Field:
    """Fractal noise: the first octave has cells of `coarse` pixels, each next one half the scale and amplitude."""
    return octave_sum(noise, rng, shape, coarse, octaves)


def octave_sum(
    make: Callable[[np.random.Generator, tuple[int, int], float], Field],
    rng: np.random.Generator,
    shape: tuple[int, int],
    coarse: float,
    octaves: int,
) -> Field:
    """Sum octaves of the noise that `make` draws."""
    total = make(rng, shape, coarse)
    for octave in range(1, octaves):
        total += np.float32(0.5**octave) * make(rng, shape, max(2.0, coarse / 2**octave))
    return total


def ramp(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    """A plane that rises in a random direction, from about -1 on one side to 1 on the other."""
    angle = rng.uniform(0, 2 * math.pi)
    y = np.linspace(-1, 1, shape[0], dtype=np.float32)[:, None] * np.float32(math.sin(angle))
    x = np.linspace(-1, 1, shape[1], dtype=np.float32)[None, :] * np.float32(math.cos(angle))
    plane: Field = y + x
    return plane
