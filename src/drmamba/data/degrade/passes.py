"""Pixel operations in a single pass over a picture, for which numpy needs several.

Each kernel spells out its own loop over pixels and channels, because a loop shared through a function argument would
not be inlined.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drmamba.compilation import compiled
from drmamba.data.page import Field, Picture

STEPS = 1024  # intervals of a tone curve between black and white


def toned(image: Picture, curve: Field) -> Picture:
    """Apply a tone curve, given at STEPS + 1 evenly spaced values from 0 to 1."""
    result: Picture = _toned(np.ascontiguousarray(image), np.asarray(curve, np.float32))
    return result


def tinted(image: Picture, gains: ArrayLike, saturation: float) -> Picture:
    """Multiply the channels by gains, then scale the saturation, and clip to [0, 1]."""
    gain = np.asarray(gains, np.float32)
    result: Picture = _tinted(np.ascontiguousarray(image), gain, np.float32(saturation))
    return result


def grained(image: Picture, speckle: Field, height: float, *, in_the_dark: bool) -> Picture:
    """Add noise, (H, W, 1) or (H, W, 3), times `height`; `in_the_dark` adds more of it where the picture is dark."""
    noise = np.ascontiguousarray(speckle)
    result: Picture = _grained(np.ascontiguousarray(image), noise, np.float32(height), in_the_dark)
    return result


def block_sums(image: Picture, near: Field, step: int) -> Field:
    """Weighted sums over blocks of step x step pixels, (h, w, 4): of the colours, and of the weight 1 - near."""
    result: Field = _block_sums(np.ascontiguousarray(image), np.ascontiguousarray(near), step)
    return result


def enlarged(values: Field, shape: tuple[int, int], step: int) -> Picture:
    """Enlarge one value per block of step x step pixels, (h, w, 3), to full size by linear interpolation."""
    result: Picture = _enlarged(np.ascontiguousarray(values), *shape, step)
    return result


def relaid(sheet: Picture, image: Picture, paper: Picture, kept: Field) -> Picture:
    """Multiply a sheet by the share of light that the ink on `paper` transmits, as far as `kept` says."""
    pictures = (np.ascontiguousarray(values) for values in (sheet, image, paper, kept))
    result: Picture = _relaid(*pictures)
    return result


def regained(image: Picture, paper: Picture, where: Field, gain: ArrayLike) -> Picture:
    """Multiply the darkness of a picture relative to its paper by a gain per channel, as far as `where` says."""
    arrays = (np.ascontiguousarray(values) for values in (image, paper, where, np.asarray(gain, np.float32)))
    result: Picture = _regained(*arrays)
    return result


def creased(
    shade: Field, away: tuple[float, float, float], wobble: Field, width: float, depth: ArrayLike
) -> None:
    """Add a crease to a field of shade, in place.

    away: the distance from the crease is away[0] * y + away[1] * x + away[2] + wobble, in pixels.
    depth: the depths of the valley, of the ridge beside it, and of the slope behind it.
    """
    _creased(shade, np.asarray(away, np.float32), wobble, np.float32(width), np.asarray(depth, np.float32))


@compiled(nogil=True)
def _toned(image: Picture, curve: Field) -> Picture:  # pragma: no cover - compiled
    values, result = image.ravel(), np.empty(image.size, np.float32)
    steps = len(curve) - 1
    for k in range(len(values)):
        place = min(np.float32(1), max(np.float32(0), values[k])) * np.float32(steps)
        low = min(int(place), steps - 1)
        result[k] = curve[low] + (place - np.float32(low)) * (curve[low + 1] - curve[low])
    return result.reshape(image.shape)


@compiled(nogil=True)
def _tinted(image: Picture, gains: Field, saturation: float) -> Picture:  # pragma: no cover - compiled
    result = np.empty_like(image)
    one, zero, third = np.float32(1), np.float32(0), np.float32(1 / 3)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            r, g, b = image[y, x, 0] * gains[0], image[y, x, 1] * gains[1], image[y, x, 2] * gains[2]
            grey = (r + g + b) * third
            result[y, x, 0] = min(one, max(zero, grey + (r - grey) * saturation))
            result[y, x, 1] = min(one, max(zero, grey + (g - grey) * saturation))
            result[y, x, 2] = min(one, max(zero, grey + (b - grey) * saturation))
    return result


@compiled(nogil=True)
def _grained(
    image: Picture, speckle: Field, height: float, in_the_dark: bool
) -> Picture:  # pragma: no cover - compiled
    result = np.empty_like(image)
    one, zero = np.float32(1), np.float32(0)
    own = speckle.shape[2] == 3
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            for c in range(3):
                value, amount = image[y, x, c], height * speckle[y, x, c if own else 0]
                if in_the_dark:
                    amount *= np.float32(1.5) - value
                result[y, x, c] = min(one, max(zero, value + amount))
    return result


@compiled(nogil=True)
def _block_sums(image: Picture, near: Field, step: int) -> Field:  # pragma: no cover - compiled
    height, width = near.shape
    sums = np.zeros(((height + step - 1) // step, (width + step - 1) // step, 4), np.float32)
    for y in range(height):
        for x in range(width):
            bare = np.float32(1) - near[y, x]
            block = sums[y // step, x // step]
            for c in range(3):
                block[c] += image[y, x, c] * bare
            block[3] += bare
    return sums


@compiled(nogil=True)
def _enlarged(values: Field, height: int, width: int, step: int) -> Picture:  # pragma: no cover - compiled
    result = np.empty((height, width, 3), np.float32)
    rows, columns = values.shape[0], values.shape[1]
    line = np.empty((columns, 3), np.float32)
    left, share = np.empty(width, np.int64), np.empty(width, np.float32)
    for x in range(width):
        across = min(max((x + 0.5) / step - 0.5, 0.0), columns - 1.0)
        left[x] = min(int(across), max(columns - 2, 0))
        share[x] = across - left[x]
    for y in range(height):
        down = min(max((y + 0.5) / step - 0.5, 0.0), rows - 1.0)
        first = min(int(down), max(rows - 2, 0))
        t, second = np.float32(down - first), min(first + 1, rows - 1)
        for k in range(columns):
            for c in range(3):
                line[k, c] = values[first, k, c] + t * (values[second, k, c] - values[first, k, c])
        for x in range(width):
            k, u = left[x], share[x]
            after = min(k + 1, columns - 1)
            for c in range(3):
                result[y, x, c] = line[k, c] + u * (line[after, c] - line[k, c])
    return result


@compiled(nogil=True)
def _relaid(
    sheet: Picture, image: Picture, paper: Picture, kept: Field
) -> Picture:  # pragma: no cover - compiled
    result = np.empty_like(sheet)
    one, zero, most = np.float32(1), np.float32(0), np.float32(1.5)
    for y in range(sheet.shape[0]):
        for x in range(sheet.shape[1]):
            share = kept[y, x]
            for c in range(3):
                passed = min(most, max(zero, image[y, x, c] / paper[y, x, c]))
                result[y, x, c] = min(one, max(zero, sheet[y, x, c] * (one + share * (passed - one))))
    return result


@compiled(nogil=True)
def _regained(
    image: Picture, paper: Picture, where: Field, gain: Field
) -> Picture:  # pragma: no cover - compiled
    result = np.empty_like(image)
    one, zero = np.float32(1), np.float32(0)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            for c in range(3):
                value = image[y, x, c]
                changed = min(one, max(zero, paper[y, x, c] - (paper[y, x, c] - value) * gain[c]))
                result[y, x, c] = value + where[y, x] * (changed - value)
    return result


@compiled(nogil=True)
def _creased(
    shade: Field, away: Field, wobble: Field, width: float, depth: NDArray[np.float32]
) -> None:  # pragma: no cover - compiled
    for y in range(shade.shape[0]):
        for x in range(shade.shape[1]):
            t = (away[0] * y + away[1] * x + away[2] + wobble[y, x]) / width
            if t > 3:
                shade[y, x] += depth[2]
            if abs(t) > 5:
                continue
            shade[y, x] += depth[0] * math.exp(-t * t) - depth[1] * math.exp(-((t - 1.8) ** 2))
            if -3 < t <= 3:
                u = (t + 3) / 6
                shade[y, x] += depth[2] * u * u * (3 - 2 * u)
