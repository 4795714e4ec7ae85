"""The scans one token at a time, against which every faster backend is tested."""

from __future__ import annotations

import torch
from torch import Tensor


def linear_scan(a: Tensor, b: Tensor, order: Tensor) -> Tensor:
    """h_t = a_t h_{t-1} + b_t along the order, from h = 0.

    a, b: (B, T, d)   order: (T,)   ->   h: (B, T, d), each token in its own place
    """
    decays, inputs = (
        a.unbind(1),
        b.unbind(1),
    )  # a[:, t] in the loop would make the gradient's cost quadratic in T
    h = torch.zeros_like(inputs[0])  # (B, d)
    states: list[Tensor] = [h] * len(inputs)
    for t in order.tolist():
        h = decays[t] * h + inputs[t]
        states[t] = h
    return torch.stack(states, dim=1)


def dual_route_scan(
    s: Tensor, g: Tensor, delta: Tensor, beta: Tensor, A_D: Tensor, A_B: Tensor, orders: Tensor
) -> Tensor:
    """Both routes and their subtractive fusion, summed over the orders: Eqs. (8)-(12).

    s, g, delta, beta: (B, T, d)   A_D, A_B: (d,)   orders: (R, T)   ->   O: (B, T, d)
    """
    a_D, a_B = torch.exp(-delta * A_D), torch.exp(-delta * A_B)  # Eq. (8)
    total = torch.zeros_like(s)
    for order in orders:
        D = linear_scan(a_D, g * s, order)  # Eq. (9)
        B = linear_scan(a_B, g * (1 - s), order)  # Eq. (10)
        total = total + (D - beta * B)  # Eqs. (11), (12)
    return total
