"""Batch normalization and the clamp after it (ReLU, ReLU6), for training on one CPU thread.

torch makes nine passes over memory for the forward and backward pass together; these numba loops make four, which makes
a whole training update a tenth faster (docs/performance.md). With several threads, in other precisions and on other
devices torch's own operators run.

The loops repeat the normalization and the sums over blocks, because only plain loops over both axes are vectorized.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drmamba.compilation import compiled

Rows = NDArray[np.float32]  # (pixels, channels)
Channels = NDArray[np.float32]  # (channels,)

BLOCK = 64  # pixels that are summed in float32 before the sum is added to one in float64

# "nnan" and "ninf" are left out, because a NaN in the input must remain a NaN.
JIT: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz", "arcp", "reassoc"},
}


def runs_here(x: Tensor) -> bool:
    """Whether the loops below apply to this map: float32, channels-last, on one CPU thread."""
    return (
        x.device.type == "cpu"
        and x.dtype == torch.float32
        and torch.get_num_threads() == 1
        and not torch.compiler.is_compiling()
        and x.is_contiguous(memory_format=torch.channels_last)
    )


def batch_norm_clamp(
    x: Tensor, weight: Tensor, bias: Tensor, eps: float, low: float, high: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalize by the batch's own statistics and clamp to [low, high]; also returns the mean and biased variance.

    x: (B, C, H, W), channels-last   weight, bias: (C,)   ->   y: (B, C, H, W), mean and variance: (C,)
    """
    y, mean, variance = _BatchNormClamp.apply(x, weight, bias, eps, low, high)  # type: ignore[no-untyped-call]
    return y, mean, variance


class _BatchNormClamp(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float, low: float, high: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        rows = _rows(x)
        sums = np.zeros((2, rows.shape[1]))
        _moments(rows, sums)
        mean, square = sums / len(rows)
        variance = np.maximum(square - mean * mean, 0)
        inverse = 1 / np.sqrt(variance + eps)
        scale = weight.detach().numpy() * inverse
        shift = (bias.detach().numpy() - mean * scale).astype(np.float32)
        scale = scale.astype(np.float32)
        y = torch.empty_like(x)
        _apply(rows, _rows(y), scale, shift, np.float32(low), np.float32(high))
        ctx.save_for_backward(x)
        ctx.statistics = mean, inverse, scale, shift, np.float32(low), np.float32(high)
        means, variances = (torch.from_numpy(values.astype(np.float32)) for values in (mean, variance))
        ctx.mark_non_differentiable(means, variances)
        return y, means, variances

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        mean, inverse, scale, shift, low, high = ctx.statistics
        rows = _rows(x)
        d_y = _rows(gradients[0].contiguous(memory_format=torch.channels_last))
        sums = np.zeros((2, rows.shape[1]))
        _gradient_sums(rows, d_y, scale, shift, low, high, sums)
        d_bias, along = sums
        d_weight = (along - mean * d_bias) * inverse
        # d_x = scale * (d_y - mean(d_y) - x_hat * mean(d_y * x_hat)), written as scale * d_y + slope * x + offset.
        slope = -scale * inverse * d_weight / len(rows)
        offset = -scale * d_bias / len(rows) - slope * mean
        d_x = torch.empty_like(x)
        _gradient(
            rows,
            d_y,
            _rows(d_x),
            scale,
            shift,
            low,
            high,
            slope.astype(np.float32),
            offset.astype(np.float32),
        )
        return d_x, *(torch.from_numpy(d.astype(np.float32)) for d in (d_weight, d_bias)), None, None, None


def _rows(x: Tensor) -> Rows:
    """A channels-last map as (pixels, channels), sharing its memory."""
    rows: Rows = x.detach().permute(0, 2, 3, 1).numpy().reshape(-1, x.shape[1])
    return rows


@compiled(**JIT)
def _moments(x: Rows, sums: NDArray[np.float64]) -> None:  # pragma: no cover - compiled
    """Add the sum and the sum of squares of every channel."""
    pixels, channels = x.shape
    total, square = np.zeros(channels, np.float32), np.zeros(channels, np.float32)
    for start in range(0, pixels, BLOCK):
        total[:] = 0
        square[:] = 0
        for i in range(start, min(start + BLOCK, pixels)):
            for c in range(channels):
                total[c] += x[i, c]
                square[c] += x[i, c] * x[i, c]
        for c in range(channels):
            sums[0, c] += total[c]
            sums[1, c] += square[c]


@compiled(**JIT)
def _apply(
    x: Rows, y: Rows, scale: Channels, shift: Channels, low: np.float32, high: np.float32
) -> None:  # pragma: no cover - compiled
    for i in range(x.shape[0]):
        for c in range(x.shape[1]):
            value = x[i, c] * scale[c] + shift[c]
            # Written so that a NaN passes both comparisons.
            value = low if value < low else value
            y[i, c] = high if value > high else value


@compiled(**JIT)
def _gradient_sums(
    x: Rows,
    d_y: Rows,
    scale: Channels,
    shift: Channels,
    low: np.float32,
    high: np.float32,
    sums: NDArray[np.float64],
) -> None:  # pragma: no cover - compiled
    """Add, for every channel, the gradients that the clamp lets pass, and their products with x."""
    pixels, channels = x.shape
    total, along = np.zeros(channels, np.float32), np.zeros(channels, np.float32)
    for start in range(0, pixels, BLOCK):
        total[:] = 0
        along[:] = 0
        for i in range(start, min(start + BLOCK, pixels)):
            for c in range(channels):
                value = x[i, c] * scale[c] + shift[c]
                passed = d_y[i, c] if (value > low) & (value < high) else np.float32(0)
                total[c] += passed
                along[c] += passed * x[i, c]
        for c in range(channels):
            sums[0, c] += total[c]
            sums[1, c] += along[c]


@compiled(**JIT)
def _gradient(
    x: Rows,
    d_y: Rows,
    d_x: Rows,
    scale: Channels,
    shift: Channels,
    low: np.float32,
    high: np.float32,
    slope: Channels,
    offset: Channels,
) -> None:  # pragma: no cover - compiled
    for i in range(x.shape[0]):
        for c in range(x.shape[1]):
            value = x[i, c] * scale[c] + shift[c]
            passed = d_y[i, c] if (value > low) & (value < high) else np.float32(0)
            d_x[i, c] = scale[c] * passed + slope[c] * x[i, c] + offset[c]
