"""The scans compiled for the CPU with numba.

Work is shared out by (batch, block of 16 channels): a block is one cache line of a token, its inner loops are
vectorized, and no two threads ever write to the same memory. Threads are this module's own pool around kernels
that release the GIL, because numba's `prange` may not be entered from two Python threads at once.

The dual-route backward stores no state: the forward leaves one mark every CHUNK tokens, and each chunk is
recomputed from its mark.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from drmamba.ops import kernels
from drmamba.ops.kernels import CHUNK, LANES


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
        _share(kernels.linear_forward, b, *_arrays(a, b, order, h))
        ctx.save_for_backward(a, h, order)
        return h

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        a, h, order = ctx.saved_tensors
        d_h = gradients[0].contiguous()
        d_a, d_b = torch.empty_like(a), torch.empty_like(a)
        _share(kernels.linear_backward, a, *_arrays(a, h, order, d_h, d_a, d_b))
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
        _share(kernels.dual_forward, like, *_arrays(*values, orders, O, states))
        ctx.save_for_backward(*values, orders, states)
        return O[..., : ctx.width]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        *values, orders, states = ctx.saved_tensors
        like = values[0]
        d_O = _padded(gradients[0])
        d_tokens = [torch.empty_like(like) for _ in range(4)]
        d_rates = [torch.empty_like(like[:, 0]) for _ in range(2)]  # (B, d) each
        _share(kernels.dual_backward, like, *_arrays(*values, orders, states, d_O, *d_tokens, *d_rates))
        return *(d[..., : ctx.width] for d in d_tokens), *(rate.sum(0)[: ctx.width] for rate in d_rates), None


def _padded(x: Tensor) -> Tensor:
    """Contiguous, with zero channels up to a whole block."""
    spare = -x.shape[-1] % LANES
    return F.pad(x, (0, spare)) if spare else x.contiguous()


def _arrays(*tensors: Tensor) -> list[np.ndarray[Any, Any]]:
    return [t.detach().numpy() for t in tensors]


def _share(kernel: Callable[..., None], like: Tensor, *arrays: np.ndarray[Any, Any]) -> None:
    """Run the kernel over all (batch, channel block) tasks on as many threads as torch uses."""
    tasks = like.shape[0] * -(-like.shape[2] // LANES)
    threads = min(torch.get_num_threads(), tasks)
    cuts = [tasks * i // threads for i in range(threads + 1)]
    shares = [
        _pool(os.getpid(), threads).submit(kernel, low, high, *arrays) for low, high in pairwise(cuts[1:])
    ]
    kernel(0, cuts[1], *arrays)
    for share in shares:
        share.result()


@lru_cache(maxsize=4)
def _pool(pid: int, threads: int) -> ThreadPoolExecutor:  # noqa: ARG001  a fork needs threads of its own
    return ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="drmamba-scan")
