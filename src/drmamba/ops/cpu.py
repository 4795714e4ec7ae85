"""The scans compiled for the CPU with numba.

A task is one (batch, block of 16 channels): a block is one cache line of a token, its inner loops are vectorized, and
no two threads write to the same memory.

The dual-route backward pass stores no states: the forward pass keeps one state every CHUNK tokens, and each chunk is
recomputed from it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from drmamba.ops import kernels
from drmamba.ops.kernels import CHUNK, LANES
from drmamba.ops.threads import run_shared


def linear_scan(a: Tensor, b: Tensor, order: Tensor) -> Tensor:
    """h_t = a_t h_{t-1} + b_t along the order; a, b: (B, T, d), order: (T,) -> (B, T, d)."""
    h: Tensor = _LinearScan.apply(a, b, order)  # type: ignore[no-untyped-call]
    return h


def dual_route_scan(
    s: Tensor, g: Tensor, delta: Tensor, beta: Tensor, A_D: Tensor, A_B: Tensor, orders: Tensor
) -> Tensor:
    """Eqs. (8)-(12); s, g, delta, beta: (B, T, d), A_D, A_B: (d,), orders: (R, T) -> (B, T, d)."""
    O: Tensor = _DualRouteScan.apply(s, g, delta, beta, A_D, A_B, orders)  # type: ignore[no-untyped-call]
    return O


class _LinearScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, order: Tensor) -> Tensor:
        a, b = a.contiguous(), b.contiguous()
        h = torch.empty_like(b)
        run_shared(kernels.linear_forward, _tasks(b), *_arrays(a, b, order, h))
        ctx.save_for_backward(a, h, order)
        return h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        a, h, order = ctx.saved_tensors
        d_h = gradients[0].contiguous()
        d_a, d_b = torch.empty_like(a), torch.empty_like(a)
        run_shared(kernels.linear_backward, _tasks(a), *_arrays(a, h, order, d_h, d_a, d_b))
        return d_a, d_b, None


class _DualRouteScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Tensor:
        *values, orders = inputs
        ctx.width = values[0].shape[-1]
        values = [_padded(v) for v in values]
        like = values[0]
        batch, length, width = like.shape
        O = torch.empty_like(like)
        marks = -(-length // CHUNK) if any(ctx.needs_input_grad) else 0
        states = like.new_empty((2, batch, len(orders), marks, width))
        run_shared(kernels.dual_forward, _tasks(like), *_arrays(*values, orders, O, states))
        ctx.save_for_backward(*values, orders, states)
        return O[..., : ctx.width]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        *values, orders, states = ctx.saved_tensors
        like = values[0]
        d_O = _padded(gradients[0])
        d_tokens = [torch.empty_like(like) for _ in range(4)]
        d_rates = [torch.empty_like(like[:, 0]) for _ in range(2)]  # (B, d) each
        run_shared(
            kernels.dual_backward, _tasks(like), *_arrays(*values, orders, states, d_O, *d_tokens, *d_rates)
        )
        return *(d[..., : ctx.width] for d in d_tokens), *(rate.sum(0)[: ctx.width] for rate in d_rates), None


def _padded(x: Tensor) -> Tensor:
    """A contiguous copy, padded with zero channels to whole blocks."""
    spare = -x.shape[-1] % LANES
    return F.pad(x, (0, spare)) if spare else x.contiguous()


def _arrays(*tensors: Tensor) -> list[np.ndarray[Any, Any]]:
    return [t.detach().numpy() for t in tensors]


def _tasks(like: Tensor) -> int:
    """The number of (batch, channel block) tasks of a (B, T, d) map."""
    return like.shape[0] * -(-like.shape[2] // LANES)
