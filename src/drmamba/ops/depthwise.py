"""The gradient of depth-wise kernels, for training on one CPU thread.

torch takes up to ten times as long for this gradient as for the convolution itself; the numba loop here takes a third
to a half of that (docs/performance.md). torch computes everything else about the convolution.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from drmamba.compilation import compiled
from drmamba.ops.batch_norm import JIT, runs_here

Maps = NDArray[np.float32]  # (batch, height, width, channels)


def depthwise_conv2d(x: Tensor, weight: Tensor, bias: Tensor | None, stride: int, padding: int) -> Tensor:
    """`F.conv2d` with one kernel a channel; x: (B, C, H, W), weight: (C, 1, k, k)."""
    if not (torch.is_grad_enabled() and weight.requires_grad and runs_here(x)):
        return F.conv2d(x, weight, bias, stride, padding, 1, x.shape[1])
    y: Tensor = _Depthwise.apply(x, weight, stride, padding)  # type: ignore[no-untyped-call]
    return y if bias is None else y + bias[:, None, None]


class _Depthwise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, stride: int, padding: int) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.stride, ctx.padding = stride, padding
        return F.conv2d(x, weight, None, stride, padding, 1, x.shape[1])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        d_y = gradients[0].contiguous(memory_format=torch.channels_last)
        d_x = None
        if ctx.needs_input_grad[0]:
            d_x = torch.ops.aten.convolution_backward(
                d_y, x, weight, None, [ctx.stride] * 2, [ctx.padding] * 2, [1, 1], False, [0, 0], x.shape[1],
                [True, False, False],
            )[0]  # fmt: skip
        kernel = weight.shape[-1]
        d_weight = np.zeros((kernel, kernel, x.shape[1]), np.float32)
        maps = (value.detach().permute(0, 2, 3, 1).numpy() for value in (x, d_y))
        _kernel_gradient(*maps, d_weight, ctx.stride, ctx.padding)
        return d_x, torch.from_numpy(d_weight).permute(2, 0, 1)[:, None], None, None


@compiled(**JIT)
def _kernel_gradient(
    x: Maps, d_y: Maps, d_weight: Maps, stride: int, padding: int
) -> None:  # pragma: no cover - compiled
    """Add to d_weight (k, k, C) the products of each output's gradient with the inputs under the kernel."""
    batch, height, width, channels = x.shape
    rows, columns = d_y.shape[1], d_y.shape[2]
    kernel = d_weight.shape[0]
    for n in range(batch):
        for i in range(rows):
            for u in range(kernel):
                y = i * stride + u - padding
                if y < 0 or y >= height:
                    continue
                for v in range(kernel):
                    # Columns whose input lies inside the map: 0 <= j * stride + v - padding < width.
                    first = max(0, -(-(padding - v) // stride))
                    last = min(columns, (width - 1 + padding - v) // stride + 1)
                    j = first
                    while j + 4 <= last:  # four at a time, so that the sum is read and written once for them
                        k = j * stride + v - padding
                        for c in range(channels):
                            d_weight[u, v, c] += (
                                d_y[n, i, j, c] * x[n, y, k, c]
                                + d_y[n, i, j + 1, c] * x[n, y, k + stride, c]
                                + d_y[n, i, j + 2, c] * x[n, y, k + 2 * stride, c]
                                + d_y[n, i, j + 3, c] * x[n, y, k + 3 * stride, c]
                            )
                        j += 4
                    while j < last:
                        k = j * stride + v - padding
                        for c in range(channels):
                            d_weight[u, v, c] += d_y[n, i, j, c] * x[n, y, k, c]
                        j += 1
