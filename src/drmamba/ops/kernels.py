"""The numba loops behind `drmamba.ops.cpu`; a task is one (batch, block of LANES channels).

The dual-route kernels work on CHUNK tokens at a time in one flat scratch array: they gather the tokens of the order,
compute, and scatter the results. In one array all operands stand at constant distances from each other, so the compiler
vectorizes without checking whether a dozen arrays overlap; hence rates and running sums have rows of their own too.
Widths are multiples of LANES; `cpu` pads them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from drmamba.compilation import compiled

Array = np.ndarray[Any, Any]

LANES = 16  # channels per block, one cache line of float32
CHUNK = 128  # tokens between two stored states of the dual-route scan

# "nnan" and "ninf" are left out, because a NaN in the input must remain a NaN.
JIT: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz", "arcp"},
}


@compiled(inline="always", **JIT)
def exp_decay(x: Any) -> Any:
    """exp(x) for x <= 0, within 2e-7 relative in float32, in a form that vectorizes; 0 below -87."""
    n = np.floor(x * np.float32(1.4426950408889634) + np.float32(0.5))
    r = x - n * np.float32(0.693359375)
    # The second part of ln 2 corrects the rounding of the first.
    r = r + n * np.float32(2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    p = p * r * r + r + np.float32(1.0)
    two_n = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    return np.float32(0.0) if x <= np.float32(-87.0) else p * two_n  # in this order a NaN remains a NaN


@compiled(**JIT)
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


@compiled(**JIT)
def linear_backward(
    first: int, last: int, a: Array, h: Array, order: Array, d_h: Array, d_a: Array, d_b: Array
) -> None:
    """The same recurrence backwards, e_t = d_h_t + a_{t+1} e_{t+1}, with d_b = e and d_a_t = e_t h_{t-1}."""
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


# Length of a row: CHUNK + 1 tokens, and three more, so that no two rows stand about a multiple of 4096 bytes apart,
# which a CPU would mistake for a store that it must wait for.
ROW = (CHUNK + 4) * LANES
# Rows of the scratch array. E_* hold the gradient that reaches a state, SUM_* the running gradients of A_D and A_B.
# DELTA, G, S and BETA are overwritten by their own gradients.
DELTA, G, S, BETA, OUT, RATE_D, RATE_B, DECAY_D, DECAY_B, D_, B_, E_D, E_B, SUM_D, SUM_B = (
    ROW * i for i in range(15)
)
SCRATCH = ROW * 15
POSITIVE = 0x7FFFFFFF  # mask that tells the compiler that an index is not negative


@compiled(**JIT)
def gather(w: Array, role: int, source: Array, n: int, order: Array, start: int, size: int, low: int) -> None:
    """Copy tokens start .. start + size - 1 of the order into a row of the scratch array."""
    for i in range(size):
        t, at = order[start + i] & POSITIVE, role + i * LANES
        for c in range(LANES):
            w[at + c] = source[n, t, low + c]


@compiled(**JIT)
def gather_inputs(
    w: Array,
    s: Array,
    g: Array,
    delta: Array,
    beta: Array,
    n: int,
    order: Array,
    start: int,
    size: int,
    low: int,
) -> None:
    """Copy s, g, delta and beta of a chunk into the scratch array."""
    gather(w, DELTA, delta, n, order, start, size, low)
    gather(w, G, g, n, order, start, size, low)
    gather(w, S, s, n, order, start, size, low)
    gather(w, BETA, beta, n, order, start, size, low)


@compiled(**JIT)
def scatter(
    w: Array, role: int, target: Array, n: int, order: Array, start: int, size: int, low: int, add: bool
) -> None:
    """Write a row of the scratch array to the tokens it belongs to, or add it there."""
    for i in range(size):
        t, at = order[start + i] & POSITIVE, role + i * LANES
        if add:
            for c in range(LANES):
                target[n, t, low + c] += w[at + c]
        else:
            for c in range(LANES):
                target[n, t, low + c] = w[at + c]


@compiled(**JIT)
def move(w: Array, target: int, source: int) -> None:
    """Copy one token of the scratch array."""
    for c in range(LANES):
        w[target + c] = w[source + c]


@compiled(**JIT)
def load_rates(w: Array, A_D: Array, A_B: Array, low: int) -> None:
    for i in range(CHUNK):
        for c in range(LANES):
            w[RATE_D + i * LANES + c] = -A_D[low + c]
            w[RATE_B + i * LANES + c] = -A_B[low + c]


@compiled(**JIT)
def advance(w: Array, size: int) -> None:
    """Eqs. (8)-(10) over a chunk; D_ and B_ hold the state before token i at position i, after it at i + 1."""
    for x in range(size * LANES):
        w[DECAY_D + x] = exp_decay(w[DELTA + x] * w[RATE_D + x])  # Eq. (8)
        w[DECAY_B + x] = exp_decay(w[DELTA + x] * w[RATE_B + x])
    for i in range(size):
        for c in range(LANES):
            x = i * LANES + c
            detail = w[G + x] * w[S + x]
            w[D_ + LANES + x] = w[DECAY_D + x] * w[D_ + x] + detail  # Eq. (9)
            w[B_ + LANES + x] = w[DECAY_B + x] * w[B_ + x] + (w[G + x] - detail)  # Eq. (10)


@compiled(**JIT)
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
    O: Array,
    states: Array,
) -> None:
    """Eqs. (8)-(12). `states` (2, B, R, chunks, d) receives D and B before each chunk, unless it has no chunks."""
    length = s.shape[1]
    blocks = s.shape[2] // LANES
    w = np.zeros(SCRATCH, np.float32)
    for task in range(first, last):
        n, low = task // blocks, task % blocks * LANES
        load_rates(w, A_D, A_B, low)
        for r in range(orders.shape[0]):
            order = orders[r]
            w[D_ : D_ + LANES] = 0
            w[B_ : B_ + LANES] = 0
            for start in range(0, length, CHUNK):
                size = min(CHUNK, length - start)
                if states.shape[3] > 0:
                    for c in range(LANES):
                        states[0, n, r, start // CHUNK, low + c] = w[D_ + c]
                        states[1, n, r, start // CHUNK, low + c] = w[B_ + c]
                gather_inputs(w, s, g, delta, beta, n, order, start, size, low)
                advance(w, size)
                for x in range(size * LANES):  # Eq. (11)
                    w[OUT + x] = w[D_ + LANES + x] - w[BETA + x] * w[B_ + LANES + x]
                scatter(w, OUT, O, n, order, start, size, low, r > 0)  # Eq. (12)
                move(w, D_, D_ + size * LANES)
                move(w, B_, B_ + size * LANES)


@compiled(**JIT)
def retreat(w: Array, size: int) -> None:
    """Gradients of Eqs. (8)-(11) over a chunk, last token first; OUT holds the gradient of O.

    e^D_t = d_O_t + a^D_{t+1} e^D_{t+1} and e^B_t = -beta_t d_O_t + a^B_{t+1} e^B_{t+1} reach the states of token t;
    E_D and E_B hold at position i what reaches the state before token i.
    """
    for i in range(size - 1, -1, -1):
        at = (i * LANES) & POSITIVE
        for c in range(LANES):
            x = at + c
            d_O, g, s, delta = w[OUT + x], w[G + x], w[S + x], w[DELTA + x]
            e_D = w[E_D + LANES + x] + d_O
            e_B = w[E_B + LANES + x] - w[BETA + x] * d_O
            w[BETA + x] = -d_O * w[B_ + LANES + x]
            w[S + x] = g * (e_D - e_B)
            w[G + x] = s * (e_D - e_B) + e_B
            e_D *= w[DECAY_D + x]
            e_B *= w[DECAY_B + x]
            along_D, along_B = e_D * w[D_ + x], e_B * w[B_ + x]  # the decay's gradient times the decay
            w[E_D + x] = e_D
            w[E_B + x] = e_B
            w[DELTA + x] = w[RATE_D + x] * along_D + w[RATE_B + x] * along_B
            w[SUM_D + x] = w[SUM_D + LANES + x] - delta * along_D
            w[SUM_B + x] = w[SUM_B + LANES + x] - delta * along_B


@compiled(**JIT)
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
    """Gradients of Eqs. (8)-(12), chunk by chunk from the end."""
    length = s.shape[1]
    blocks = s.shape[2] // LANES
    w = np.zeros(SCRATCH, np.float32)
    for task in range(first, last):
        n, low = task // blocks, task % blocks * LANES
        load_rates(w, A_D, A_B, low)
        w[E_D:] = 0
        for r in range(orders.shape[0]):
            order = orders[r]
            w[E_D : E_D + LANES] = 0
            w[E_B : E_B + LANES] = 0
            for chunk in range(states.shape[3] - 1, -1, -1):
                start = chunk * CHUNK
                size = min(CHUNK, length - start)
                for c in range(LANES):
                    w[D_ + c] = states[0, n, r, chunk, low + c]
                    w[B_ + c] = states[1, n, r, chunk, low + c]
                for role in (E_D, E_B, SUM_D, SUM_B):  # the end of this chunk is the start of the next
                    move(w, role + size * LANES, role)
                gather_inputs(w, s, g, delta, beta, n, order, start, size, low)
                gather(w, OUT, d_O, n, order, start, size, low)
                advance(w, size)
                retreat(w, size)
                scatter(w, DELTA, d_delta, n, order, start, size, low, r > 0)
                scatter(w, G, d_g, n, order, start, size, low, r > 0)
                scatter(w, S, d_s, n, order, start, size, low, r > 0)
                scatter(w, BETA, d_beta, n, order, start, size, low, r > 0)
        for c in range(LANES):
            d_A_D[n, low + c] = w[SUM_D + c]
            d_A_B[n, low + c] = w[SUM_B + c]
