"""Every backend is the same function as the reference: values and all gradients."""

import pytest
import torch

from drmamba.errors import BackendError, InputError
from drmamba.ops import available, choose_backend, dual_route_scan, linear_scan, scan_orders

NAMES = ("s", "g", "delta", "beta", "A_D", "A_B")
FAST = ["chunked", "numba"]


def dual_inputs(
    batch: int, length: int, width: int, dtype: torch.dtype = torch.float32
) -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(length * 31 + width)
    tokens = [torch.rand(batch, length, width, generator=random, dtype=dtype) for _ in range(4)]
    tokens[2] = tokens[2] * 2  # delta
    A_B = torch.rand(width, generator=random, dtype=dtype) * 0.5 + 0.01
    A_D = A_B + torch.rand(width, generator=random, dtype=dtype)
    return [x.requires_grad_() for x in (*tokens, A_D, A_B)]


def values_and_gradients(scan, inputs, orders, backend):
    out = scan(*inputs, orders, backend=backend)
    weights = torch.cos(torch.arange(out.numel(), dtype=out.dtype)).view_as(out)
    return [out.detach(), *torch.autograd.grad((out * weights).sum(), inputs)]


def assert_same(got, want, names, backend=""):
    for name, a, b in zip(names, got, want, strict=True):
        # Sums over thousands of tokens cancel: what is small beside the tensor's own scale is rounding.
        atol = 1e-5 * max(1.0, float(b.abs().max()))
        torch.testing.assert_close(
            a, b, rtol=1e-4, atol=atol, msg=lambda m, n=name: f"{n} of {backend or 'the scan'}: {m}"
        )


@pytest.mark.parametrize(("height", "width"), [(1, 1), (7, 9), (8, 8), (10, 10), (1, 100), (63, 1)])
@pytest.mark.parametrize("directions", [1, 4, 8])
def test_dual_route_matches_reference(height, width, directions):
    inputs = dual_inputs(2, height * width, 20)
    orders = scan_orders(directions, height, width)
    want = values_and_gradients(dual_route_scan, inputs, orders, "reference")
    for backend in FAST:
        assert_same(
            values_and_gradients(dual_route_scan, inputs, orders, backend), want, ("O", *NAMES), backend
        )


def test_a_whole_window_of_tokens_matches_reference():
    inputs = dual_inputs(1, 128 * 128, 16)
    orders = scan_orders(1, 128, 128)
    want = values_and_gradients(dual_route_scan, inputs, orders, "reference")
    for backend in FAST:
        assert_same(
            values_and_gradients(dual_route_scan, inputs, orders, backend), want, ("O", *NAMES), backend
        )


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("length", [1, 63, 64, 100])
@pytest.mark.parametrize("width", [1, 16, 33])
def test_linear_scan_matches_reference(backend, length, width):
    random = torch.Generator().manual_seed(length)
    a, b = (torch.rand(2, length, width, generator=random).requires_grad_() for _ in range(2))
    order = torch.randperm(length, generator=random)
    got, want = (values_and_gradients(linear_scan, (a, b), order, name) for name in (backend, "reference"))
    assert_same(got, want, ("h", "a", "b"))


def test_reference_gradients_are_right():
    inputs = dual_inputs(1, 6, 2, torch.float64)
    orders = scan_orders(4, 2, 3)
    assert torch.autograd.gradcheck(lambda *x: dual_route_scan(*x, orders, backend="reference"), inputs)


@pytest.mark.parametrize("backend", ["reference", *FAST])
def test_long_constant_input_with_slow_decay_neither_overflows_nor_drifts(backend):
    length = 16384
    a, b = torch.full((1, length, 1), 0.9999), torch.full((1, length, 1), 0.5)
    h = linear_scan(a, b, torch.arange(length), backend=backend)[0, :, 0]
    t = torch.arange(1, length + 1, dtype=torch.float64)
    decay = float(a[0, 0, 0])
    exact = 0.5 * (1 - decay**t) / (1 - decay)  # geometric series
    torch.testing.assert_close(h.double(), exact, rtol=1e-3, atol=0)


@pytest.mark.parametrize("backend", ["reference", *FAST])
def test_a_huge_step_forgets_everything(backend):
    s, g, beta = (torch.full((1, 9, 1), x) for x in (1.0, 0.25, 0.5))
    delta = torch.full((1, 9, 1), 1e6)
    O = dual_route_scan(
        s, g, delta, beta, torch.ones(1), torch.ones(1), scan_orders(4, 3, 3), backend=backend
    )
    assert torch.equal(O, torch.ones_like(O))  # four directions, each D = g*s


@pytest.mark.parametrize("backend", FAST)
def test_nan_is_not_swallowed(backend):
    inputs = [x.detach() for x in dual_inputs(1, 9, 3)]
    inputs[2][0, 4, 1] = float("nan")
    out = dual_route_scan(*inputs, scan_orders(1, 3, 3), backend=backend)
    assert out[0, 4:, 1].isnan().all()
    assert not out[0, :, 0].isnan().any()


@pytest.mark.parametrize("backend", FAST)
def test_states_are_float32_under_autocast(backend):
    inputs = dual_inputs(1, 64, 16)
    orders = scan_orders(4, 8, 8)
    with torch.autocast("cpu", torch.bfloat16):
        narrow = dual_route_scan(*(x.bfloat16() for x in inputs), orders, backend=backend)
    wide = dual_route_scan(*(x.bfloat16().float() for x in inputs), orders, backend=backend)
    assert narrow.dtype == torch.float32
    assert torch.equal(narrow, wide)


def test_two_threads_may_scan_at_once():
    from concurrent.futures import ThreadPoolExecutor

    inputs = [x.detach() for x in dual_inputs(1, 900, 32)]
    orders = scan_orders(4, 30, 30)
    want = dual_route_scan(*inputs, orders, backend="numba")
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: dual_route_scan(*inputs, orders, backend="numba"), range(16)):
            assert torch.equal(got, want)


def test_backward_keeps_no_states_per_token():
    """What autograd saves beside the inputs is a mark every 128 tokens, not D and B for all of them."""
    inputs = dual_inputs(1, 4096, 16)
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: saved.append(x.numel()) or x, lambda x: x):
        dual_route_scan(*inputs, scan_orders(4, 64, 64), backend="numba")
    tokens = 4096 * 16
    assert sum(saved) < 4 * tokens + 4 * 4096 + 4 * 2 * tokens // 32


class TestOrders:
    @pytest.mark.parametrize("directions", [1, 4, 8])
    @pytest.mark.parametrize(("height", "width"), [(1, 1), (3, 5), (5, 2)])
    def test_each_order_visits_every_token_once(self, directions, height, width):
        orders = scan_orders(directions, height, width)
        assert orders.shape == (directions, height * width)
        for order in orders:
            assert sorted(order.tolist()) == list(range(height * width))

    def test_the_papers_four(self):
        # 0 1 2
        # 3 4 5
        rows, back, columns, up = scan_orders(4, 2, 3).tolist()
        assert rows == [0, 1, 2, 3, 4, 5]
        assert back == [5, 4, 3, 2, 1, 0]
        assert columns == [0, 3, 1, 4, 2, 5]
        assert up == [5, 2, 4, 1, 3, 0]

    def test_diagonals(self):
        falling, _, rising, _ = scan_orders(8, 2, 3)[4:].tolist()
        assert falling == [3, 0, 4, 1, 5, 2]  # x - y = -1, 0, 1, 2
        assert rising == [0, 1, 3, 2, 4, 5]  # x + y = 0, 1, 2, 3


class TestEntryPoint:
    def test_wrong_shapes_are_named(self):
        inputs = [x.detach() for x in dual_inputs(1, 9, 3)]
        orders = scan_orders(4, 3, 3)
        with pytest.raises(InputError, match=r"beta must have the shape of s, \(1, 9, 3\), got \(1, 9, 2\)"):
            dual_route_scan(*inputs[:3], inputs[3][..., :2], *inputs[4:], orders)
        with pytest.raises(InputError, match=r"A_B must have the shape \(3,\)"):
            dual_route_scan(*inputs[:5], torch.ones(4), orders)
        with pytest.raises(InputError, match="permutations of 9 tokens"):
            dual_route_scan(*inputs, scan_orders(4, 2, 4))
        with pytest.raises(InputError, match="s must be floating point"):
            dual_route_scan(inputs[0].long(), *inputs[1:], orders)
        with pytest.raises(InputError, match="shape"):
            linear_scan(torch.ones(3), torch.ones(3), torch.arange(3))

    def test_devices_may_not_mix(self):
        with pytest.raises(InputError, match="b is on meta but a on cpu"):
            linear_scan(torch.ones(1, 3, 2), torch.ones(1, 3, 2, device="meta"), torch.arange(3))

    def test_auto_takes_numba_on_a_cpu_and_says_what_is_there(self):
        assert choose_backend("auto", torch.device("cpu")) == "numba"
        assert available()["numba"] == "yes"

    def test_a_named_backend_is_never_replaced(self):
        with pytest.raises(BackendError, match="no scan backend 'fast'"):
            choose_backend("fast", torch.device("cpu"))  # type: ignore[arg-type]
        with pytest.raises(BackendError, match="numba' runs on CPU tensors"):
            choose_backend("numba", torch.device("meta"))
        with pytest.raises(BackendError, match="float32"):
            choose_backend("numba", torch.device("cpu"), torch.float64)
