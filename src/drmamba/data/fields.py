"""Smooth random fields and blur, cheap enough to make for every crop."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float32]

TILE = 1024  # pixels: side of the ready-made pieces of fine noise
FINE = 4.5  # pixels: noise of smaller cells is cut from them


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
    """A random window of a tile, turned over at random."""
    lots = rng.integers(0, (TILE - shape[0] + 1, TILE - shape[1] + 1, 8))
    top, left, turn = int(lots[0]), int(lots[1]), int(lots[2])
    piece = tile[top : top + shape[0], left : left + shape[1]]
    piece = piece[:: -1 if turn & 1 else 1, :: -1 if turn & 2 else 1]
    return -piece if turn & 4 else piece.copy()


@cache
def _tile(half_cells: int) -> Field:
    """Fine noise, made once: to draw and interpolate it for every crop would cost more than all the rest."""
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
    """Noise at `coarse` pixels and ever finer, each octave half the scale and half the height."""
    total = noise(rng, shape, coarse)
    for octave in range(1, octaves):
        total += np.float32(0.5**octave) * noise(rng, shape, max(2.0, coarse / 2**octave))
    return total


def smoothstep(values: Field, low: float, high: float) -> Field:
    """0 below low, 1 above high, and a soft step between."""
    t: Field = np.clip((values - np.float32(low)) * np.float32(1 / (high - low)), 0, 1)
    return t * t * (3 - 2 * t)


def ramp(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    """A plane in a random direction, -1 at one side and 1 at the other."""
    angle = rng.uniform(0, 2 * math.pi)
    y = np.linspace(-1, 1, shape[0], dtype=np.float32)[:, None] * np.float32(math.sin(angle))
    x = np.linspace(-1, 1, shape[1], dtype=np.float32)[None, :] * np.float32(math.cos(angle))
    plane: Field = y + x
    return plane


def blur(values: NDArray[Any], sigma: float) -> Field:
    """Gaussian blur of (H, W) or (H, W, C), the edge repeated."""
    values = np.ascontiguousarray(values, np.float32)
    if sigma < 0.2:
        return values
    channels = 1 if values.ndim == 2 else values.shape[2]
    radius = max(1, math.ceil(2.5 * sigma))
    taps = np.exp(-0.5 * (np.arange(radius + 1) / sigma) ** 2).astype(np.float32)
    taps /= taps[0] + 2 * taps[1:].sum()
    result: Field = _blur(values.reshape(values.shape[0], -1), taps, channels)
    return result.reshape(values.shape)


@numba.njit(cache=True, nogil=True, fastmath=True)
def _blur(values: Field, taps: Field, channels: int) -> Field:  # pragma: no cover - compiled
    height, width = values.shape
    reach = len(taps) - 1
    down = np.empty_like(values)
    for y in range(height):
        for x in range(width):
            down[y, x] = values[y, x] * taps[0]
        for k in range(1, reach + 1):
            above, below = max(y - k, 0), min(y + k, height - 1)
            weight = taps[k]
            for x in range(width):
                down[y, x] += weight * (values[above, x] + values[below, x])
    result = np.empty_like(values)
    margin = reach * channels
    padded = np.empty(width + 2 * margin, np.float32)
    for y in range(height):
        for x in range(margin):
            padded[x] = down[y, x % channels]
            padded[margin + width + x] = down[y, width - channels + x % channels]
        padded[margin : margin + width] = down[y]
        for x in range(width):
            result[y, x] = padded[margin + x] * taps[0]
        for k in range(1, reach + 1):
            shift = k * channels
            weight = taps[k]
            for x in range(width):
                result[y, x] += weight * (padded[margin + x - shift] + padded[margin + x + shift])
    return result


def reduced(values: Field, step: int) -> Field:
    """Means of step x step blocks of (H, W, C); the last rows and columns are repeated to fill a block."""
    height, width, channels = values.shape
    pad = ((0, -height % step), (0, -width % step), (0, 0))
    if any(sum(p) for p in pad):
        values = np.pad(values, pad, mode="edge")
    height, width = values.shape[0] // step, values.shape[1] // step
    bands = values.reshape(height, step, -1).sum(1)  # whole rows first: far faster than both axes at once
    means: Field = bands.reshape(height, width, step, channels).sum(2) * np.float32(1 / step**2)
    return means


def enlarged(values: Field, shape: tuple[int, int], step: int) -> Field:
    """Blocks of step x step pixels, (h, w, C), back at full size, interpolated linearly."""
    height, width, channels = values.shape
    rows, columns = _linear(shape[0], height, step), _linear(shape[1], width, step)
    across = columns @ values.swapaxes(0, 1).reshape(width, -1)  # (W, h * C)
    across = across.reshape(shape[1], height, channels).swapaxes(0, 1).reshape(height, -1)  # (h, W * C)
    return (rows @ across).reshape(*shape, channels)


@lru_cache(maxsize=64)
def _linear(size: int, blocks: int, step: int) -> Field:
    place = np.clip((np.arange(size) + 0.5) / step - 0.5, 0, blocks - 1)
    first = np.minimum(place.astype(np.int64), max(blocks - 2, 0))
    matrix = np.zeros((size, blocks), np.float32)
    matrix[np.arange(size), np.minimum(first + 1, blocks - 1)] = place - first
    matrix[np.arange(size), first] += 1 - (place - first)
    return matrix
