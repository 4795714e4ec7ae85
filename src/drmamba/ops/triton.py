"""The scans on CUDA, in Triton.

A sequence is cut into chunks that all run at once, so that one image and 96 channels still fill a GPU (98,304 threads
a launch at 128 x 128 tokens). There are three phases, in the forward as in the backward pass:

1. every chunk is scanned from a zero state, which gives its product of decays and its end state;
2. the states are carried across the chunks, which is itself a linear scan, but 16 times shorter;
3. every chunk is scanned again from its true initial state.

Only the results are stored per token; the backward pass recomputes the states from those of phase 2. The orders share
phases 1 and 2. In phase 3 they run one after the other and add to the same output: a launch ends before the next one
begins, so there is no race, no atomic add and no copy of the output per order, and the sum is taken in the order of the
reference.

The tests show that in Triton's interpreter values and gradients equal those of the reference, and that the kernels
compile to machine code for CUDA. The comparison on a GPU runs where there is one; no result of it is recorded yet.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from drmamba.errors import BackendError
from drmamba.ops import triton_kernels as kernels
from drmamba.ops.triton_kernels import INTERPRETED

OLDEST = (3, 3)  # first version of Triton that can hold a chunk's states in a tuple
# Tokens per chunk of the dual-route scan. Its 2 x 16 states fit into a thread's registers: compiled for sm_80 and
# sm_120, `dual_gradients` takes 80 and spills none. Unrolling them costs seconds of compilation, once.
STEPS = 16
LINEAR_STEPS = 64  # tokens per chunk of the linear scan
# Lanes per program, one per thread; the interpreter is faster with long vectors.
BLOCK = 4096 if INTERPRETED else 128


def reason_not_to_run() -> str:
    """The reason why the kernels cannot run here, or an empty string."""
    if kernels.VERSION < OLDEST:
        return "triton {}.{} or newer is needed, got {}.{}".format(*OLDEST, *kernels.VERSION)
    if not INTERPRETED and not torch.cuda.is_available():
        return "there is no CUDA device (set TRITON_INTERPRET=1 to try the kernels on the CPU)"
    return ""


def linear_scan(a: Tensor, b: Tensor, order: Tensor) -> Tensor:
    """h_t = a_t h_{t-1} + b_t along the order; a, b: (B, T, d), order: (T,) -> (B, T, d)."""
    _check_device(a)
    scan: Callable[..., Tensor] = _TritonLinearScan.apply
    return scan(a, b, order)


def dual_route_scan(
    s: Tensor, g: Tensor, delta: Tensor, beta: Tensor, A_D: Tensor, A_B: Tensor, orders: Tensor
) -> Tensor:
    """Eqs. (8)-(12); s, g, delta, beta: (B, T, d), A_D, A_B: (d,), orders: (R, T) -> (B, T, d)."""
    _check_device(s)
    scan: Callable[..., Tensor] = _TritonDualRouteScan.apply
    return scan(s, g, delta, beta, A_D, A_B, orders)


class _TritonLinearScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Tensor:
        a, b, order = (x.contiguous() for x in inputs)
        with _on(a.device):
            h = _scan(a, b, order)
        ctx.save_for_backward(a, h, order)
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        a, h, order = ctx.saved_tensors
        d_h = gradients[0].contiguous()
        with _on(a.device):
            backwards = order.flip(0)
            before = _before(a, d_h, backwards, backward=True)
            d_a, d_b = torch.empty_like(a), torch.empty_like(a)
            _launch(kernels.linear_gradients, before, a, h, d_h, backwards, before, d_a, d_b, **_linear(a))
        return d_a, d_b, None


class _TritonDualRouteScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Tensor:
        *values, orders = (x.contiguous() for x in inputs)
        s, g, delta, _, A_D, A_B = values
        with _on(s.device):
            decay, end = _summaries(s, orders)
            maps = s, g, delta, A_D, A_B, orders, *decay, *end
            _launch(kernels.dual_ends, decay[0], *maps, batch=s.shape[0], **_dual(s))
            marks = _carry(decay, end)
            O = torch.zeros_like(s)
            for order, mark in zip(orders, marks.unbind(1), strict=True):
                _launch(kernels.dual_outputs, mark[0], *values, order, *mark, O, **_dual(s))
        ctx.save_for_backward(*values, orders, marks)
        return O

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        *values, orders, marks = ctx.saved_tensors
        s, _, delta, beta, A_D, A_B = values
        d_O = gradients[0].contiguous()
        with _on(s.device):
            decay, end = _summaries(s, orders)
            maps = delta, beta, A_D, A_B, orders, d_O, *decay, *end
            _launch(kernels.dual_ends_backward, decay[0], *maps, batch=s.shape[0], **_dual(s))
            afters = _carry(decay, end, backward=True)
            d_tokens = [torch.zeros_like(s) for _ in range(4)]
            d_rates = torch.zeros_like(marks[:, 0])  # (2, B, chunks, d), summed below without atomic adds
            for order, mark, after in zip(orders, marks.unbind(1), afters.unbind(1), strict=True):
                maps = *values, order, *mark, *after, d_O, *d_tokens, *d_rates
                _launch(kernels.dual_gradients, mark[0], *maps, **_dual(s))
        return *d_tokens, *d_rates.sum((1, 2)), None


def _linear(like: Tensor) -> dict[str, int]:
    """The launch settings of the linear scan for a (N, T, d) map."""
    return {"length": like.shape[1], "steps": min(LINEAR_STEPS, like.shape[1])}


def _dual(like: Tensor) -> dict[str, int]:
    """The launch settings of the dual-route scan for a (B, T, d) map."""
    return {"length": like.shape[1], "STEPS": STEPS}


def _scan(a: Tensor, b: Tensor, order: Tensor, *, exclusive: bool = False) -> Tensor:
    """The linear scan of (N, T, d); `exclusive` leaves out each token's own decay and input."""
    before = _before(a, b, order)
    states = torch.empty_like(b)
    _launch(kernels.linear_states, before, a, b, order, before, states, EXCLUSIVE=exclusive, **_linear(a))
    return states


def _before(a: Tensor, b: Tensor, order: Tensor, *, backward: bool = False) -> Tensor:
    """Phases 1 and 2 of the linear scan: the state before each chunk, (N, chunks, d)."""
    sequences, length, width = a.shape
    chunks = -(-length // LINEAR_STEPS)
    if chunks == 1:
        return a.new_zeros((sequences, 1, width))
    decay, end = a.new_empty((2, sequences, chunks, width))
    _launch(kernels.linear_ends, decay, a, b, order, decay, end, BACKWARD=backward, **_linear(a))
    return _scan(decay, end, torch.arange(chunks, device=a.device), exclusive=True)


def _summaries(like: Tensor, orders: Tensor) -> tuple[Tensor, Tensor]:
    """Empty tensors for the decays and the end states of phase 1, each (2 routes, R, B, chunks, d)."""
    batch, length, width = like.shape
    shape = (2, len(orders), batch, -(-length // STEPS), width)
    return like.new_empty(shape), like.new_empty(shape)


def _carry(decay: Tensor, end: Tensor, *, backward: bool = False) -> Tensor:
    """Phase 2: the state before each chunk, or the gradient that reaches its end; (2, R, B, chunks, d)."""
    order = torch.arange(decay.shape[-2], device=decay.device)
    order = order.flip(0) if backward else order
    return _scan(decay.flatten(0, 2), end.flatten(0, 2), order, exclusive=True).view_as(decay)


def _launch(kernel: Any, lanes: Tensor, *maps: Tensor, **settings: int) -> None:
    """Run a kernel with one lane for each element of a (..., chunks, d) tensor."""
    chunks, width = lanes.shape[-2:]
    if lanes.numel():
        programs = lanes.shape[:-2].numel() * -(-chunks * width // BLOCK)
        # a*h + b may be one instruction, which is the default, but Triton 3.9 warns if it is not stated.
        options = {"chunks": chunks, "width": width, "BLOCK": BLOCK, "num_warps": 4, "enable_fp_fusion": True}
        kernel[(programs,)](*maps, **settings, **options)


def _on(device: torch.device) -> AbstractContextManager[Any]:
    """Make the tensors' device the current one, on which Triton launches."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def _check_device(tensor: Tensor) -> None:
    if tensor.device.type != "cuda" and not INTERPRETED:
        raise BackendError(
            f"the scan backend 'triton' runs on CUDA tensors, got {tensor.device}; move them, or use 'auto'"
        )
