"""The scans in plain torch, for any device, differentiable by autograd, and exportable.

The sequence is cut into about sqrt(T) chunks that advance in parallel, one token a step; then the final state of each
chunk is carried into the next. Only products of decays in (0, 1] occur, so nothing overflows.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def linear_scan(a: Tensor, b: Tensor, order: Tensor) -> Tensor:
    """h_t = a_t h_{t-1} + b_t along the order; a, b: (B, T, d), order: (T,) -> (B, T, d)."""
    batch, length, width = b.shape
    steps = max(1, math.isqrt(length))
    chunks = -(-length // steps)
    padding = (0, 0, 0, chunks * steps - length)
    a_chunks = F.pad(a[:, order], padding).view(batch, chunks, steps, width)
    b_chunks = F.pad(b[:, order], padding).view(batch, chunks, steps, width)

    h, decay = b_chunks[:, :, 0], a_chunks[:, :, 0]  # within each chunk, from a zero state: (B, chunks, d)
    states, decays = [h], [decay]
    for i in range(1, steps):
        h = a_chunks[:, :, i] * h + b_chunks[:, :, i]
        decay = decay * a_chunks[:, :, i]
        states.append(h)
        decays.append(decay)

    carry = torch.zeros_like(h[:, 0])  # (B, d)
    carries = [carry]
    for j in range(chunks - 1):
        carry = decay[:, j] * carry + h[:, j]
        carries.append(carry)

    scanned = torch.stack(states, 2) + torch.stack(decays, 2) * torch.stack(carries, 1)[:, :, None]
    inverse = torch.argsort(order)
    return scanned.view(batch, chunks * steps, width)[:, inverse]


def dual_route_scan(
    s: Tensor, g: Tensor, delta: Tensor, beta: Tensor, A_D: Tensor, A_B: Tensor, orders: Tensor
) -> Tensor:
    """Eqs. (8)-(12); s, g, delta, beta: (B, T, d), A_D, A_B: (d,), orders: (R, T) -> (B, T, d)."""
    # Both routes share one scan as 2d channels.
    a = torch.cat([torch.exp(-delta * A_D), torch.exp(-delta * A_B)], -1)  # Eq. (8)
    b = torch.cat([g * s, g * (1 - s)], -1)
    routes = linear_scan(a, b, orders[0])  # Eqs. (9), (10)
    for order in orders[1:]:
        routes = routes + linear_scan(a, b, order)
    D, B = routes.chunk(2, -1)
    return D - beta * B  # Eqs. (11), (12): beta does not depend on the order, so the sum moves inside
