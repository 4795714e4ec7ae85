"""The scans on CUDA, in Triton.

A sequence is cut into chunks that all run at once, so that one image and 96 channels still fill a GPU (at
128 x 128 tokens: 98,304 threads a launch). Three phases, forward as backward:

1. every chunk, from a zero state: its product of decays and its end state;
2. the states are carried across the chunks, itself a linear scan, but 16 times shorter;
3. every chunk again, now from the state it really begins with.

Nothing is stored per token but the results; the backward computes the states again from the marks of phase 2.
The orders share phases 1 and 2. In phase 3 they run one after the other and add to the same output: a launch
ends before the next begins, so there is no race, no atomic add and no copy of the output per order, and the
sum is taken in the reference's order.

What the tests show: values and gradients equal the reference's in Triton's interpreter, and the kernels
compile to machine code for CUDA. The comparison on a GPU runs only where there is one; so far it has not.
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

OLDEST = (3, 3)  # the first that can hold a chunk's states in a tuple
STEPS = 16  # tokens a chunk of the dual-route scan: its states fit into a thread's registers
LINEAR_STEPS = 64  # tokens a chunk of the linear scan
BLOCK = 4096 if INTERPRETED else 128  # lanes a program: one a thread; the interpreter likes long vectors


def reason_not_to_run() -> str:
    """Empty if the kernels can run here."""
    if kernels.VERSION < OLDEST:
        return "triton {}.{} or newer is needed, got {}.{}".format(*OLDEST, *kernels.VERSION)
    if not INTERPRETED and not torch.cuda.is_available():
        return "there is no CUDA device (to try the kernels on the CPU, start with TRITON_INTERPRET=1)"
    return ""


def linear_scan(a: Tensor, b: Tensor, order: Tensor) -> Tensor:
    """h_t = a_t h_{t-1} + b_t along the order; a, b: (B, T, d), order: (T,) -> (B, T, d)."""
    _check_device(a)
    scan: Callable[..., Tensor] = _LinearScan.apply
    return scan(a, b, order)


def dual_route_scan(
    s: Tensor, g: Tensor, delta: Tensor, beta: Tensor, A_D: Tensor, A_B: Tensor, orders: Tensor
) -> Tensor:
    """Eqs. (8)-(12); s, g, delta, beta: (B, T, d), A_D, A_B: (d,), orders: (R, T) -> (B, T, d)."""
    _check_device(s)
    scan: Callable[..., Tensor] = _DualRouteScan.apply
    return scan(s, g, delta, beta, A_D, A_B, orders)


class _LinearScan(torch.autograd.Function):
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
            _launch(kernels.linear_gradients, a, LINEAR_STEPS, a, h, d_h, backwards, before, d_a, d_b)
        return d_a, d_b, None


class _DualRouteScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Tensor:
        *values, orders = (x.contiguous() for x in inputs)
        s, g, delta, _, A_D, A_B = values
        with _on(s.device):
            decay, end = _summaries(s, orders)
            _launch_all(kernels.dual_ends, s, orders, s, g, delta, A_D, A_B, orders, *decay, *end)
            marks = _carry(decay, end)
            O = torch.zeros_like(s)
            for r, order in enumerate(orders):
                _launch(kernels.dual_outputs, s, STEPS, *values, order, *marks[:, r], O)
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
            _launch_all(
                kernels.dual_ends_backward, s, orders, delta, beta, A_D, A_B, orders, d_O, *decay, *end
            )
            after = _carry(decay, end, backward=True)
            d_tokens = [torch.zeros_like(s) for _ in range(4)]
            d_rates = torch.zeros_like(
                marks[:, 0]
            )  # (2, B, chunks, d), summed here rather than by atomic adds
            for r, order in enumerate(orders):
                _launch(
                    kernels.dual_gradients,
                    s,
                    STEPS,
                    *values,
                    order,
                    *marks[:, r],
                    *after[:, r],
                    d_O,
                    *d_tokens,
                    *d_rates,
                )
        return *d_tokens, *d_rates.sum((1, 2)), None


def _scan(a: Tensor, b: Tensor, order: Tensor, *, exclusive: bool = False) -> Tensor:
    """The linear scan of (N, T, d); `exclusive` leaves out each token's own input and decay."""
    before = _before(a, b, order)
    states = torch.empty_like(b)
    _launch(kernels.linear_states, a, LINEAR_STEPS, a, b, order, before, states, EXCLUSIVE=exclusive)
    return states


def _before(a: Tensor, b: Tensor, order: Tensor, *, backward: bool = False) -> Tensor:
    """Phases 1 and 2 of the linear scan: the state before each chunk, (N, chunks, d)."""
    sequences, length, width = a.shape
    shape = (sequences, -(-length // LINEAR_STEPS), width)
    if shape[1] == 1:
        return a.new_zeros(shape)
    decay, end = a.new_empty(shape), a.new_empty(shape)
    _launch(kernels.linear_ends, a, LINEAR_STEPS, a, b, order, decay, end, BACKWARD=backward)
    return _scan(decay, end, torch.arange(shape[1], device=a.device), exclusive=True)


def _summaries(like: Tensor, orders: Tensor) -> tuple[Tensor, Tensor]:
    """Room for what phase 1 finds: decays and end states, each (2 routes, R, B, chunks, d)."""
    batch, length, width = like.shape
    shape = (2, len(orders), batch, -(-length // STEPS), width)
    return like.new_empty(shape), like.new_empty(shape)


def _carry(decay: Tensor, end: Tensor, *, backward: bool = False) -> Tensor:
    """Phase 2: the state before each chunk, or what reaches its end from behind; (2, R, B, chunks, d)."""
    order = torch.arange(decay.shape[-2], device=decay.device)
    states = _scan(
        decay.flatten(0, 2), end.flatten(0, 2), order.flip(0) if backward else order, exclusive=True
    )
    return states.view_as(decay)


def _launch(
    kernel: Any, like: Tensor, steps: int, *arguments: Tensor, sequences: int = 0, **settings: Any
) -> None:
    """Run a kernel with one lane per sequence, chunk and channel."""
    batch, length, width = like.shape
    chunks = -(-length // steps)
    programs = (sequences or batch) * -(-chunks * width // BLOCK)
    if programs:
        # a*h + b may be one instruction, as it is by default; Triton 3.9 warns where this is not said.
        settings |= {"length": length, "chunks": chunks, "width": width, "STEPS": steps, "BLOCK": BLOCK}
        kernel[(programs,)](*arguments, **settings, num_warps=4, enable_fp_fusion=True)


def _launch_all(kernel: Any, like: Tensor, orders: Tensor, *arguments: Tensor) -> None:
    """Run a kernel of the dual-route scan for all orders at once."""
    batch = like.shape[0]
    _launch(kernel, like, STEPS, *arguments, sequences=len(orders) * batch, batch=batch)


def _on(device: torch.device) -> AbstractContextManager[Any]:
    """Triton launches on the current device, which need not be the tensors'."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def _check_device(tensor: Tensor) -> None:
    if tensor.device.type != "cuda" and not INTERPRETED:
        raise BackendError(
            f"the scan backend 'triton' runs on CUDA tensors, got {tensor.device}; move them, or use 'auto'"
        )
