"""Scans run by Triton's interpreter in a process of its own, which imports this module by its name."""

import numpy as np
import torch
from torch import Tensor

from drmamba import ops


def results(function: str, backend: str, values: list[Tensor], order: Tensor, d_out: Tensor) -> list[Tensor]:
    """The scan's result, then the gradient of every input, weighted by d_out."""
    values = [v.clone().requires_grad_() for v in values]
    out = getattr(ops, function)(*values, order, backend=backend)
    return [out.detach(), *torch.autograd.grad(out, values, d_out)]


def interpret(function: str, arrays: list[np.ndarray], block: int) -> list[np.ndarray]:
    """The work of the other process. Arrays, because tensors would travel through shared memory."""
    from drmamba.ops import triton

    assert triton.INTERPRETED
    assert triton.reason_not_to_run() == ""
    triton.BLOCK = block
    torch.set_num_threads(1)
    # None of them contiguous: the backend must see to that itself.
    *values, order, d_out = (torch.from_numpy(np.stack([a, a], -1))[..., 0] for a in arrays)
    return [r.numpy() for r in results(function, "triton", values, order, d_out)]
