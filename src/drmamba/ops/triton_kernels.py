"""The Triton kernels behind `drmamba.ops.triton`, and the one place that imports the library.

A lane is one channel of one chunk of one sequence and processes its tokens one after the other; a program is BLOCK
neighbouring lanes. Channels are contiguous in memory and in lanes, so the threads of a warp read neighbouring floats in
any order of the tokens. No lane needs another lane of the same launch, and no two write to the same place, so there are
no atomics, no shared memory and no barriers, and every run gives the same bits. Triton's `associative_scan` is not
used: it has given wrong results in reverse (triton-lang/triton#8412), and the interpreter runs it element by element.

The `other` values of the loads make tokens beyond the end of the sequence neutral: decay 1, input 0. The kernels repeat
their first and last lines, because a helper for them would take as many arguments as it has lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drmamba.errors import MissingExtra

try:
    import triton
    import triton.language as tl
except ImportError as error:
    raise MissingExtra("triton", "triton") from error

VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])

jit: Callable[[Callable[..., Any]], Any] = triton.jit


@jit
def lanes(chunks: int, width: int, BLOCK: tl.constexpr) -> Any:
    """For each lane: its sequence, its position in a (N, chunks, d) map, its chunk, its channel, whether it exists."""
    blocks = tl.cdiv(chunks * width, BLOCK)
    # This is 64 bits wide, so that every offset computed from it is, too.
    n = (tl.program_id(0) // blocks).to(tl.int64)
    lane = tl.program_id(0) % blocks * BLOCK + tl.arange(0, BLOCK)
    return n, n * chunks * width + lane, lane // width, lane % width, lane < chunks * width


# Decided by the environment variable TRITON_INTERPRET when the function was decorated, not by its value now.
INTERPRETED = not isinstance(lanes, triton.JITFunction)

# The interpreter takes milliseconds to enter a jit function, but also runs plain functions inside a kernel.
inline: Callable[[Callable[..., Any]], Any] = (lambda function: function) if INTERPRETED else jit


@inline
def token(
    order: tl.tensor, position: tl.tensor, start: tl.tensor, exists: tl.tensor, length: int, width: int
) -> Any:
    """The offset in a map of the token at a position of the order, and whether it exists.

    start: the offset of the lane's channel of the sequence's first token
    """
    exists = exists & (position < length)
    return start + tl.load(order + position, mask=exists, other=0) * width, exists


@jit
def linear_ends(
    a: tl.tensor,  # (N, T, d)
    b: tl.tensor,
    order: tl.tensor,  # (T,)
    decay: tl.tensor,  # (N, chunks, d)
    end: tl.tensor,
    length: int,
    chunks: int,
    width: int,
    steps: int,
    BACKWARD: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """Each chunk's product of decays, and its end state from a zero state.

    BACKWARD runs the recurrence of the gradient, f_t = a_t (f_{t-1} + b_t).
    """
    n, there, chunk, channel, exists = lanes(chunks, width, BLOCK)
    first, start = chunk * steps, n * length * width + channel
    product = tl.full([BLOCK], 1.0, tl.float32)
    h = tl.zeros([BLOCK], tl.float32)
    for i in range(steps):
        at, real = token(order, first + i, start, exists, length, width)
        a_t = tl.load(a + at, mask=real, other=1.0)
        b_t = tl.load(b + at, mask=real, other=0.0)
        product *= a_t
        h = a_t * (h + b_t) if BACKWARD else a_t * h + b_t
    tl.store(decay + there, product, mask=exists)
    tl.store(end + there, h, mask=exists)


@jit
def linear_states(
    a: tl.tensor,
    b: tl.tensor,
    order: tl.tensor,
    before: tl.tensor,  # (N, chunks, d)
    states: tl.tensor,  # (N, T, d)
    length: int,
    chunks: int,
    width: int,
    steps: int,
    EXCLUSIVE: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """h_t = a_t h_{t-1} + b_t from the state before each chunk; EXCLUSIVE stores h_{t-1} as token t's."""
    n, there, chunk, channel, exists = lanes(chunks, width, BLOCK)
    first, start = chunk * steps, n * length * width + channel
    h = tl.load(before + there, mask=exists, other=0.0)
    for i in range(steps):
        at, real = token(order, first + i, start, exists, length, width)
        if EXCLUSIVE:
            tl.store(states + at, h, mask=real)
        h = tl.load(a + at, mask=real, other=1.0) * h + tl.load(b + at, mask=real, other=0.0)
        if not EXCLUSIVE:
            tl.store(states + at, h, mask=real)


@jit
def linear_gradients(
    a: tl.tensor,
    h: tl.tensor,
    d_h: tl.tensor,
    backwards: tl.tensor,  # (T,) the order, last token first
    before: tl.tensor,  # (N, chunks, d) the f that reaches each chunk of the backward order
    d_a: tl.tensor,
    d_b: tl.tensor,
    length: int,
    chunks: int,
    width: int,
    steps: int,
    BLOCK: tl.constexpr,
) -> None:
    """e_t = d_h_t + f_{t+1} and f_t = a_t e_t, last token first; d_b = e, d_a_t = e_t h_{t-1}."""
    n, there, chunk, channel, exists = lanes(chunks, width, BLOCK)
    first, start = chunk * steps, n * length * width + channel
    f = tl.load(before + there, mask=exists, other=0.0)
    for i in range(steps):
        at, real = token(backwards, first + i, start, exists, length, width)
        at_previous, has_previous = token(backwards, first + i + 1, start, exists, length, width)
        h_previous = tl.load(h + at_previous, mask=has_previous, other=0.0)
        e = tl.load(d_h + at, mask=real, other=0.0) + f
        f = tl.load(a + at, mask=real, other=1.0) * e
        tl.store(d_b + at, e, mask=real)
        tl.store(d_a + at, e * h_previous, mask=real)


@inline
def rates(A_D: tl.tensor, A_B: tl.tensor, channel: tl.tensor, exists: tl.tensor) -> Any:
    return tl.load(A_D + channel, mask=exists, other=0.0), tl.load(A_B + channel, mask=exists, other=0.0)


@inline
def advance(
    s: tl.tensor,
    g: tl.tensor,
    delta: tl.tensor,
    at: tl.tensor,
    real: tl.tensor,
    rate_D: tl.tensor,
    rate_B: tl.tensor,
    D: tl.tensor,
    B: tl.tensor,
) -> Any:
    """Eqs. (8)-(10) for one token: both decays, and both states after it."""
    s_t = tl.load(s + at, mask=real, other=0.0)
    g_t = tl.load(g + at, mask=real, other=0.0)
    delta_t = tl.load(delta + at, mask=real, other=0.0)
    a_D, a_B = tl.exp(-delta_t * rate_D), tl.exp(-delta_t * rate_B)  # Eq. (8)
    return a_D, a_B, a_D * D + g_t * s_t, a_B * B + g_t * (1.0 - s_t)  # Eqs. (9), (10)


@jit
def dual_ends(
    s: tl.tensor,  # (batch, T, d)
    g: tl.tensor,
    delta: tl.tensor,
    A_D: tl.tensor,  # (d,)
    A_B: tl.tensor,
    orders: tl.tensor,  # (R, T)
    decay_D: tl.tensor,  # (R, batch, chunks, d)
    decay_B: tl.tensor,
    end_D: tl.tensor,
    end_B: tl.tensor,
    batch: int,
    length: int,
    chunks: int,
    width: int,
    STEPS: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """`linear_ends` for both routes of Eqs. (8)-(10), all orders at once."""
    n, there, chunk, channel, exists = lanes(chunks, width, BLOCK)
    first, start = chunk * STEPS, n % batch * length * width + channel
    order = orders + n // batch * length
    rate_D, rate_B = rates(A_D, A_B, channel, exists)
    product_D = tl.full([BLOCK], 1.0, tl.float32)
    product_B = product_D
    D = tl.zeros([BLOCK], tl.float32)
    B = D
    for i in tl.static_range(STEPS):
        at, real = token(order, first + i, start, exists, length, width)
        a_D, a_B, D, B = advance(s, g, delta, at, real, rate_D, rate_B, D, B)
        product_D *= a_D
        product_B *= a_B
    tl.store(decay_D + there, product_D, mask=exists)
    tl.store(decay_B + there, product_B, mask=exists)
    tl.store(end_D + there, D, mask=exists)
    tl.store(end_B + there, B, mask=exists)


@jit
def dual_outputs(
    s: tl.tensor,
    g: tl.tensor,
    delta: tl.tensor,
    beta: tl.tensor,
    A_D: tl.tensor,
    A_B: tl.tensor,
    order: tl.tensor,  # (T,)
    mark_D: tl.tensor,  # (batch, chunks, d) the states before each chunk of this order
    mark_B: tl.tensor,
    O: tl.tensor,
    length: int,
    chunks: int,
    width: int,
    STEPS: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """Eqs. (8)-(11) along one order, added to O: Eq. (12)."""
    n, there, chunk, channel, exists = lanes(chunks, width, BLOCK)
    first, start = chunk * STEPS, n * length * width + channel
    rate_D, rate_B = rates(A_D, A_B, channel, exists)
    D = tl.load(mark_D + there, mask=exists, other=0.0)
    B = tl.load(mark_B + there, mask=exists, other=0.0)
    for i in tl.static_range(STEPS):
        at, real = token(order, first + i, start, exists, length, width)
        _, _, D, B = advance(s, g, delta, at, real, rate_D, rate_B, D, B)
        O_t = D - tl.load(beta + at, mask=real, other=0.0) * B  # Eq. (11)
        tl.store(O + at, tl.load(O + at, mask=real, other=0.0) + O_t, mask=real)


@jit
def dual_ends_backward(
    delta: tl.tensor,
    beta: tl.tensor,
    A_D: tl.tensor,
    A_B: tl.tensor,
    orders: tl.tensor,
    d_O: tl.tensor,
    decay_D: tl.tensor,
    decay_B: tl.tensor,
    end_D: tl.tensor,
    end_B: tl.tensor,
    batch: int,
    length: int,
    chunks: int,
    width: int,
    STEPS: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """The gradient that each chunk passes to the state before it, and the product of its decays.

    f^D_t = a^D_t (f^D_{t+1} + d_O_t) and f^B_t = a^B_t (f^B_{t+1} - beta_t d_O_t), last token first.
    """
    n, there, chunk, channel, exists = lanes(chunks, width, BLOCK)
    first, start = chunk * STEPS, n % batch * length * width + channel
    order = orders + n // batch * length
    rate_D, rate_B = rates(A_D, A_B, channel, exists)
    product_D = tl.full([BLOCK], 1.0, tl.float32)
    product_B = product_D
    f_D = tl.zeros([BLOCK], tl.float32)
    f_B = f_D
    for i in tl.static_range(STEPS - 1, -1, -1):
        at, real = token(order, first + i, start, exists, length, width)
        delta_t = tl.load(delta + at, mask=real, other=0.0)
        d_O_t = tl.load(d_O + at, mask=real, other=0.0)
        a_D, a_B = tl.exp(-delta_t * rate_D), tl.exp(-delta_t * rate_B)  # Eq. (8)
        f_D = a_D * (f_D + d_O_t)
        f_B = a_B * (f_B - tl.load(beta + at, mask=real, other=0.0) * d_O_t)
        product_D *= a_D
        product_B *= a_B
    tl.store(decay_D + there, product_D, mask=exists)
    tl.store(decay_B + there, product_B, mask=exists)
    tl.store(end_D + there, f_D, mask=exists)
    tl.store(end_B + there, f_B, mask=exists)


@inline
def add(target: tl.tensor, at: tl.tensor, value: tl.tensor, real: tl.tensor) -> None:
    tl.store(target + at, tl.load(target + at, mask=real, other=0.0) + value, mask=real)


@jit
def dual_gradients(
    s: tl.tensor,
    g: tl.tensor,
    delta: tl.tensor,
    beta: tl.tensor,
    A_D: tl.tensor,
    A_B: tl.tensor,
    order: tl.tensor,
    mark_D: tl.tensor,
    mark_B: tl.tensor,
    after_D: tl.tensor,  # (batch, chunks, d) the f that reaches the end of each chunk
    after_B: tl.tensor,
    d_O: tl.tensor,
    d_s: tl.tensor,
    d_g: tl.tensor,
    d_delta: tl.tensor,
    d_beta: tl.tensor,
    d_A_D: tl.tensor,  # (batch, chunks, d)
    d_A_B: tl.tensor,
    length: int,
    chunks: int,
    width: int,
    STEPS: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """The gradients of Eqs. (8)-(11) along one order, added to the d_*.

    The states of the chunk are recomputed from the state before it; in unrolled loops they stay in registers.
    """
    n, there, chunk, channel, exists = lanes(chunks, width, BLOCK)
    first, start = chunk * STEPS, n * length * width + channel
    rate_D, rate_B = rates(A_D, A_B, channel, exists)
    D = tl.load(mark_D + there, mask=exists, other=0.0)
    B = tl.load(mark_B + there, mask=exists, other=0.0)
    states_D, states_B = (D,), (B,)  # at position i is the state before token i
    for i in tl.static_range(STEPS):
        at, real = token(order, first + i, start, exists, length, width)
        _, _, D, B = advance(s, g, delta, at, real, rate_D, rate_B, D, B)
        states_D, states_B = states_D + (D,), states_B + (B,)  # type: ignore[assignment]  # noqa: RUF005

    f_D = tl.load(after_D + there, mask=exists, other=0.0)
    f_B = tl.load(after_B + there, mask=exists, other=0.0)
    sum_D = tl.zeros([BLOCK], tl.float32)
    sum_B = sum_D
    for i in tl.static_range(STEPS - 1, -1, -1):
        at, real = token(order, first + i, start, exists, length, width)
        s_t = tl.load(s + at, mask=real, other=0.0)
        g_t = tl.load(g + at, mask=real, other=0.0)
        delta_t = tl.load(delta + at, mask=real, other=0.0)
        beta_t = tl.load(beta + at, mask=real, other=0.0)
        d_O_t = tl.load(d_O + at, mask=real, other=0.0)
        e_D = f_D + d_O_t  # what reaches the states of this token, Eq. (11)
        e_B = f_B - beta_t * d_O_t
        f_D = tl.exp(-delta_t * rate_D) * e_D  # and those of the token before, Eqs. (9), (10)
        f_B = tl.exp(-delta_t * rate_B) * e_B
        along_D = f_D * states_D[i]  # the gradient of the exponent in Eq. (8)
        along_B = f_B * states_B[i]
        sum_D -= delta_t * along_D
        sum_B -= delta_t * along_B
        add(d_s, at, g_t * (e_D - e_B), real)
        add(d_g, at, s_t * e_D + (1.0 - s_t) * e_B, real)
        add(d_delta, at, -(rate_D * along_D + rate_B * along_B), real)
        add(d_beta, at, -d_O_t * states_B[i + 1], real)
    add(d_A_D, there, sum_D, exists)
    add(d_A_B, there, sum_B, exists)
