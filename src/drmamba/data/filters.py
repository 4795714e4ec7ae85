"""Filters on pictures and fields: Gaussian blur, soft thresholds, means over blocks.

The blur is written here because every crop is blurred many times: `scipy.ndimage.gaussian_filter` converts each line
of each channel to float64 and back, whereas this loop stays in float32 and filters the channels of a row together.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drmamba.compilation import compiled
from drmamba.data.page import Field


def smoothstep(values: Field, low: float, high: float) -> Field:
    """A soft threshold: 0 below `low`, 1 above `high`, and a cubic ramp between them."""
    t: Field = np.clip((values - np.float32(low)) * np.float32(1 / (high - low)), 0, 1)
    return t * t * (3 - 2 * t)


def blur(values: NDArray[Any], sigma: float) -> Field:
    """Gaussian blur of (H, W) or (H, W, C); pixels beyond the edge repeat the edge."""
    values = np.ascontiguousarray(values, np.float32)
    if sigma < 0.2:
        return values
    channels = 1 if values.ndim == 2 else values.shape[2]
    radius = max(1, math.ceil(2.5 * sigma))
    taps = np.exp(-0.5 * (np.arange(radius + 1) / sigma) ** 2).astype(np.float32)
    taps /= taps[0] + 2 * taps[1:].sum()
    result: Field = _blur(values.reshape(values.shape[0], -1), taps, channels)
    return result.reshape(values.shape)


@compiled(nogil=True, fastmath=True)
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
    """Means over blocks of step x step pixels of (H, W, C).

    Blocks that reach beyond the edge are filled by repeating the last row or column.
    """
    height, width, channels = values.shape
    pad = ((0, -height % step), (0, -width % step), (0, 0))
    if any(sum(p) for p in pad):
        values = np.pad(values, pad, mode="edge")
    height, width = values.shape[0] // step, values.shape[1] // step
    # Summing whole rows first is far faster than both axes at once.
    bands = values.reshape(height, step, -1).sum(1)
    means: Field = bands.reshape(height, width, step, channels).sum(2) * np.float32(1 / step**2)
    return means
