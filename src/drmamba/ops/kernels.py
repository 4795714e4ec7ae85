"""The numba loops behind `drmamba.ops.cpu`; a task is one (batch, block of LANES channels).

The dual-route kernels work on CHUNK tokens at a time in one flat scratch array: gather the tokens of the order,
compute, scatter. One array with constant offsets is what lets the compiler vectorize without asking whether
a dozen arrays overlap. Widths are multiples of LANES; `cpu` pads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]

LANES = 16  # channels a block: one cache line of float32
CHUNK = 64  # tokens between two stored states of the dual-route scan

# fastmath without "nnan"/"ninf": a NaN in the input must come out as a NaN.
JIT: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": {"contract", "nsz", "arcp"}}


@njit(inline="always", **JIT)
def exp_decay(x: float) -> float:
    """exp(x) for x <= 0, within 2e-7 relative in float32, in a form that vectorizes; 0 below -87."""
    n = np.floor(x * np.float32(1.4426950408889634) + np.float32(0.5))
    r = x - n * np.float32(0.693359375)
    r = r + n * np.float32(2.12194440e-4)  # ln 2 in two parts: the second corrects the first's rounding
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    p = p * r * r + r + np.float32(1.0)
    two_n = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    return np.float32(0.0) if x <= np.float32(-87.0) else p * two_n  # in this order a NaN stays a NaN


@njit(**JIT)
def linear_forward(first: int, last: int, a: Array, b: Array, order: Array, h: Array) -> None:
    """h_t = a_t h_{t-1} + b_t for the tasks first .. last - 1."""
    length, width = a.shape[1], a.shape[2]
    blocks = -(-width // LANES)
    state = np.empty(LANES, np.float32)
    for task in range(first, last):
        n, low = task // blocks, task % blocks * LANES
        lanes = min(LANES, width - low)
        state[:] = 0
        for i in range(length):
            t = order[i]
            for c in range(lanes):
                state[c] = a[n, t, low + c] * state[c] + b[n, t, low + c]
                h[n, t, low + c] = state[c]


@njit(**JIT)
def linear_backward(
    first: int, last: int, a: Array, h: Array, order: Array, d_h: Array, d_a: Array, d_b: Array
) -> None:
    """The same recurrence backwards: e_t = d_h_t + a_{t+1} e_{t+1}; d_b = e, d_a_t = e_t h_{t-1}."""
    length, width = a.shape[1], a.shape[2]
    blocks = -(-width // LANES)
    e = np.empty(LANES, np.float32)
    for task in range(first, last):
        n, low = task // blocks, task % blocks * LANES
        lanes = min(LANES, width - low)
        e[:] = 0
        for i in range(length - 1, -1, -1):
            t = order[i]
            for c in range(lanes):
                e[c] += d_h[n, t, low + c]
                d_b[n, t, low + c] = e[c]
            if i > 0:
                before = order[i - 1]
                for c in range(lanes):
                    d_a[n, t, low + c] = e[c] * h[n, before, low + c]
                    e[c] *= a[n, t, low + c]
            else:
                for c in range(lanes):
                    d_a[n, t, low + c] = 0


# Rows of the scratch array, each CHUNK + 1 tokens of LANES channels; row() gives the offset of one token.
DELTA, G, S, BETA, A_D_, A_B_, D_, B_, OUT, D_S, D_G, D_DELTA, D_BETA, SUMS, RATES = range(15)
ROW = (CHUNK + 1) * LANES
SCRATCH = 15 * ROW


@njit(inline="always", **JIT)
def row(role: int, token: int) -> int:
    return role * ROW + token * LANES


@njit(**JIT)
def gather(w: Array, role: int, source: Array, n: int, order: Array, start: int, size: int, low: int) -> None:
    """Tokens start .. start + size - 1 of the order into a row of the scratch array."""
    for i in range(size):
        t, at = order[start + i], row(role, i)
        for c in range(LANES):
            w[at + c] = source[n, t, low + c]


@njit(**JIT)
def scatter(w: Array, role: int, target: Array, n: int, order: Array, start: int, size: int, low: int) -> None:
    """Add a row of the scratch array to the tokens it belongs to."""
    for i in range(size):
        t, at = order[start + i], row(role, i)
        for c in range(LANES):
            target[n, t, low + c] += w[at + c]


@njit(**JIT)
def load_rates(w: Array, A_D: Array, A_B: Array, low: int) -> None:
    for c in range(LANES):
        w[row(RATES, 0) + c] = -A_D[low + c]
        w[row(RATES, 1) + c] = -A_B[low + c]


@njit(**JIT)
def advance(w: Array, size: int) -> None:
    """Eqs. (8)-(10) over a chunk: D_ and B_ hold the state before token i in place i, after it in i + 1."""
    for i in range(size):
        at = i * LANES
        for c in range(LANES):
            delta = w[DELTA * ROW + at + c]
            w[A_D_ * ROW + at + c] = exp_decay(delta * w[RATES * ROW + c])  # Eq. (8)
            w[A_B_ * ROW + at + c] = exp_decay(delta * w[RATES * ROW + LANES + c])
    for i in range(size):
        at = i * LANES
        for c in range(LANES):
            g = w[G * ROW + at + c]
            detail = g * w[S * ROW + at + c]
            w[D_ * ROW + at + LANES + c] = w[A_D_ * ROW + at + c] * w[D_ * ROW + at + c] + detail  # Eq. (9)
            w[B_ * ROW + at + LANES + c] = w[A_B_ * ROW + at + c] * w[B_ * ROW + at + c] + (g - detail)  # Eq. (10)


@njit(**JIT)
def dual_forward(
    first: int,
    last: int,
    s: Array,
    g: Array,
    delta: Array,
    beta: Array,
    A_D: Array,
    A_B: Array,
    orders: Array,
    O: Array,  # noqa: E741
    states: Array,
) -> None:
    """Eqs. (8)-(12) added to O. `states` (2, B, R, chunks, d) gets D and B before each chunk, if it has chunks."""
    length = s.shape[1]
    blocks = s.shape[2] // LANES
    w = np.zeros(SCRATCH, np.float32)
    for task in range(first, last):
        n, low = task // blocks, task % blocks * LANES
        load_rates(w, A_D, A_B, low)
        for r in range(orders.shape[0]):
            order = orders[r]
            w[row(D_, 0) : row(D_, 1)] = 0
            w[row(B_, 0) : row(B_, 1)] = 0
            for start in range(0, length, CHUNK):
                size = min(CHUNK, length - start)
                if states.shape[3] > 0:
                    for c in range(LANES):
                        states[0, n, r, start // CHUNK, low + c] = w[row(D_, 0) + c]
                        states[1, n, r, start // CHUNK, low + c] = w[row(B_, 0) + c]
                gather(w, DELTA, delta, n, order, start, size, low)
                gather(w, G, g, n, order, start, size, low)
                gather(w, S, s, n, order, start, size, low)
                gather(w, BETA, beta, n, order, start, size, low)
                advance(w, size)
                for i in range(size * LANES):  # Eq. (11)
                    w[OUT * ROW + i] = w[D_ * ROW + LANES + i] - w[BETA * ROW + i] * w[B_ * ROW + LANES + i]
                scatter(w, OUT, O, n, order, start, size, low)  # Eq. (12)
                for c in range(LANES):
                    w[row(D_, 0) + c] = w[row(D_, size) + c]
                    w[row(B_, 0) + c] = w[row(B_, size) + c]


@njit(**JIT)
def retreat(w: Array, size: int) -> None:
    """Gradients of Eqs. (8)-(11) over a chunk, last token first.

    With e the gradient that reaches a state: e^D_t = d_O_t + a^D_{t+1} e^D_{t+1} and
    e^B_t = -beta_t d_O_t + a^B_{t+1} e^B_{t+1}. SUMS holds e^D, e^B and the running gradients of A_D, A_B.
    """
    for i in range(size - 1, -1, -1):
        at = i * LANES
        for c in range(LANES):
            d_O = w[OUT * ROW + at + c]
            e_D = w[SUMS * ROW + c] + d_O
            e_B = w[SUMS * ROW + LANES + c] - w[BETA * ROW + at + c] * d_O
            w[D_BETA * ROW + at + c] = -d_O * w[B_ * ROW + at + LANES + c]
            w[D_S * ROW + at + c] = w[G * ROW + at + c] * (e_D - e_B)
            w[D_G * ROW + at + c] = w[S * ROW + at + c] * (e_D - e_B) + e_B
            e_D *= w[A_D_ * ROW + at + c]  # now the gradient that reaches the state before
            e_B *= w[A_B_ * ROW + at + c]
            w[SUMS * ROW + c] = e_D
            w[SUMS * ROW + LANES + c] = e_B
            along_D, along_B = e_D * w[D_ * ROW + at + c], e_B * w[B_ * ROW + at + c]  # a_t times d a_t
            w[D_DELTA * ROW + at + c] = w[RATES * ROW + c] * along_D + w[RATES * ROW + LANES + c] * along_B
            w[SUMS * ROW + 2 * LANES + c] -= w[DELTA * ROW + at + c] * along_D
            w[SUMS * ROW + 3 * LANES + c] -= w[DELTA * ROW + at + c] * along_B


@njit(**JIT)
def dual_backward(
    first: int,
    last: int,
    s: Array,
    g: Array,
    delta: Array,
    beta: Array,
    A_D: Array,
    A_B: Array,
    orders: Array,
    states: Array,
    d_O: Array,
    d_s: Array,
    d_g: Array,
    d_delta: Array,
    d_beta: Array,
    d_A_D: Array,
    d_A_B: Array,
) -> None:
    """Gradients of Eqs. (8)-(12), chunk by chunk from the end; all d_* but d_O start at zero."""
    length = s.shape[1]
    blocks = s.shape[2] // LANES
    w = np.zeros(SCRATCH, np.float32)
    for task in range(first, last):
        n, low = task // blocks, task % blocks * LANES
        load_rates(w, A_D, A_B, low)
        w[row(SUMS, 2) : row(SUMS, 4)] = 0
        for r in range(orders.shape[0]):
            order = orders[r]
            w[row(SUMS, 0) : row(SUMS, 2)] = 0
            for chunk in range(states.shape[3] - 1, -1, -1):
                start = chunk * CHUNK
                size = min(CHUNK, length - start)
                for c in range(LANES):
                    w[row(D_, 0) + c] = states[0, n, r, chunk, low + c]
                    w[row(B_, 0) + c] = states[1, n, r, chunk, low + c]
                gather(w, DELTA, delta, n, order, start, size, low)
                gather(w, G, g, n, order, start, size, low)
                gather(w, S, s, n, order, start, size, low)
                gather(w, BETA, beta, n, order, start, size, low)
                gather(w, OUT, d_O, n, order, start, size, low)
                advance(w, size)
                retreat(w, size)
                scatter(w, D_S, d_s, n, order, start, size, low)
                scatter(w, D_G, d_g, n, order, start, size, low)
                scatter(w, D_DELTA, d_delta, n, order, start, size, low)
                scatter(w, D_BETA, d_beta, n, order, start, size, low)
        for c in range(LANES):
            d_A_D[n, low + c] = w[row(SUMS, 2) + c]
            d_A_B[n, low + c] = w[row(SUMS, 3) + c]
