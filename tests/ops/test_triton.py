"""The Triton scans against the reference: in Triton's interpreter everywhere, on the device where there is one.

The interpreter must be chosen before triton is imported, so it runs in a process of its own.
"""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import torch
from interpreted_scans import interpret, results
from torch import Tensor

from drmamba import ops
from drmamba.errors import BackendError, MissingExtra

pytestmark = pytest.mark.skipif(
    find_spec("triton") is None, reason='triton is not installed: pip install ".[triton]"'
)

Scan = Callable[..., list[Tensor]]


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Scan]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TRITON_INTERPRET", "1")
            pool.submit(os.getpid).result()  # starts the process, which keeps this environment

        def run(function: str, *tensors: Tensor, block: int = 4096) -> list[Tensor]:
            arrays = [t.numpy() for t in tensors]
            return [torch.from_numpy(r) for r in pool.submit(interpret, function, arrays, block).result()]

        yield run


def dual_inputs(batch: int, length: int, width: int) -> list[Tensor]:
    """s, g, delta, beta, A_D, A_B in their ranges; some decays slow, some fast."""
    random = torch.Generator().manual_seed(length * width)
    s, g, delta, beta = torch.rand((4, batch, length, width), generator=random)
    A_B = 0.01 + torch.rand(width, generator=random)
    return [s, 2 * g - 1, 3 * delta**4, beta, A_B + 0.1 + torch.rand(width, generator=random), A_B]


def linear_inputs(batch: int, length: int, width: int) -> list[Tensor]:
    random = torch.Generator().manual_seed(length * width)
    a, b = torch.rand((2, batch, length, width), generator=random)
    return [1 - a**4, 2 * b - 1]


def weights(like: Tensor) -> Tensor:
    return torch.randn(like.shape, generator=torch.Generator().manual_seed(1))


def assert_equal(got: list[Tensor], want: list[Tensor]) -> None:
    """Relative 1e-4, and absolute where terms cancel: 1e-6 of the largest value."""
    for g, w in zip(got, want, strict=True):
        torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-6 * max(1.0, w.abs().max().item()))


# batch, height, width of the map, channels, orders, lanes a program. 128 is what runs on a GPU; the lanes of a
# sequence (a sixteenth of its tokens times its channels) fill no program exactly.
MAPS = [
    (1, 1, 1, 1, 1, 128),
    (2, 1, 1, 5, 4, 128),
    (1, 7, 9, 40, 4, 128),
    (1, 8, 8, 33, 8, 128),
    (2, 10, 10, 3, 1, 16),
    (2, 4, 25, 7, 4, 4096),
]


@pytest.mark.parametrize(("batch", "height", "width", "channels", "directions", "block"), MAPS)
def test_dual_route_scan_equals_the_reference(
    interpreter: Scan, batch: int, height: int, width: int, channels: int, directions: int, block: int
) -> None:
    values = dual_inputs(batch, height * width, channels)
    order, d_out = ops.scan_orders(directions, height, width), weights(values[0])
    got = interpreter("dual_route_scan", *values, order, d_out, block=block)
    assert_equal(got, results("dual_route_scan", "reference", values, order, d_out))


def test_dual_route_scan_of_a_large_map(interpreter: Scan) -> None:
    """Its 256 chunks are 4 chunks of states again, as in a map of any larger size."""
    values = dual_inputs(1, 64 * 64, 2)
    order, d_out = ops.scan_orders(4, 64, 64)[[0, 3]], weights(values[0])
    got = interpreter("dual_route_scan", *values, order, d_out)
    assert_equal(got, results("dual_route_scan", "reference", values, order, d_out))


# 4200 tokens are 66 chunks, whose states are 2 chunks again: the carry calls itself.
@pytest.mark.parametrize(("length", "block"), [(1, 128), (63, 128), (64, 128), (100, 16), (4200, 4096)])
def test_linear_scan_equals_the_reference(interpreter: Scan, length: int, block: int) -> None:
    values = linear_inputs(2, length, 5)
    order = torch.randperm(length, generator=torch.Generator().manual_seed(2))
    d_out = weights(values[0])
    got = interpreter("linear_scan", *values, order, d_out, block=block)
    assert_equal(got, results("linear_scan", "reference", values, order, d_out))


def test_long_constant_input_neither_overflows_nor_drifts(interpreter: Scan) -> None:
    """Against h_t = (1 - a^t) / (1 - a) in float64, for decays from none to immediate."""
    length, rate = 16384, torch.tensor([0.0, 1e-5, 1e-3, 1e4])
    one = torch.ones(1, length, 4)
    order = torch.arange(length)[None]
    O, *gradients = interpreter("dual_route_scan", one, one, one, 0 * one, rate, rate, order, one)  # O = D
    t = torch.arange(1, length + 1, dtype=torch.float64)[:, None]
    a = torch.exp(-rate).double()  # rounded to float32 first: that much is lost in any scan
    want = torch.where(a == 1, t, (1 - a**t) / (1 - a).clamp(min=1e-12))
    torch.testing.assert_close(O[0].double(), want, rtol=1e-4, atol=0)
    assert all(g.isfinite().all() for g in gradients)
    torch.testing.assert_close(gradients[0][0, :, 0].double(), t[:, 0].flip(0), rtol=1e-4, atol=0)  # d_s


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("shape", [*(m[:5] for m in MAPS), (2, 128, 128, 96, 8)])
def test_the_device_equals_plain_torch(shape: tuple[int, int, int, int, int]) -> None:
    batch, height, width, channels, directions = shape
    for function, values in (
        ("dual_route_scan", dual_inputs(batch, height * width, channels)),
        ("linear_scan", linear_inputs(batch, height * width, channels)),
    ):
        orders, d_out = ops.scan_orders(directions, height, width).cuda(), weights(values[0]).cuda()
        order = orders if function == "dual_route_scan" else orders[-1]
        values = [v.cuda() for v in values]
        got = results(function, "triton", values, order, d_out)
        assert_equal(got, results(function, "chunked", values, order, d_out))
        for first, second in zip(got, results(function, "triton", values, order, d_out), strict=True):
            assert torch.equal(first, second)  # the same bits again


def test_the_kernels_compile_to_machine_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The interpreter lets pass what the compiler refuses. No device is needed to compile for one."""
    from triton import compile  # noqa: A004
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from drmamba.ops import triton

    compiled: dict[tuple[Any, ...], bytes] = {}

    def launch(kernel: Any, lanes: Tensor, *maps: Tensor, **settings: int) -> None:
        chunks, width = lanes.shape[-2:]
        given = dict(zip(kernel.arg_names, maps, strict=False))
        given |= settings | {"chunks": chunks, "width": width, "BLOCK": triton.BLOCK}
        assert set(given) == set(kernel.arg_names)
        kinds = {torch.float32: "*fp32", torch.int64: "*i64"}
        # As at a launch: the integer 1 is a constant of the kernel too.
        plain = {name: value for name, value in given.items() if not isinstance(value, Tensor)}
        constants = {p.name: plain[p.name] for p in kernel.params if p.is_constexpr or plain.get(p.name) == 1}
        signature = {name: kinds[v.dtype] if isinstance(v, Tensor) else "i32" for name, v in given.items()}
        signature |= dict.fromkeys(constants, "constexpr")
        signature = {name: signature[name] for name in kernel.arg_names}
        key = (kernel.__name__, *signature.items(), *constants.items())
        if key not in compiled:
            source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
            code = compile(source, target=GPUTarget("cuda", 80, 32), options={"enable_fp_fusion": True})
            compiled[key] = code.asm["cubin"]

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(triton, "_launch", launch)
    monkeypatch.setattr(triton, "_check_device", lambda _: None)
    monkeypatch.setattr(triton, "STEPS", 2)  # the compiler's time grows with what it unrolls
    for shape in ((2, 130, 3), (1, 1, 1)):
        for scan, values, order in (
            (triton.dual_route_scan, dual_inputs(*shape), torch.arange(shape[1])[None]),
            (triton.linear_scan, linear_inputs(*shape), torch.arange(shape[1])),
        ):
            values = [v.requires_grad_() for v in values]
            scan(*values, order).sum().backward()
    assert {key[0] for key in compiled} == {
        "linear_ends",
        "linear_states",
        "linear_gradients",
        "dual_ends",
        "dual_outputs",
        "dual_ends_backward",
        "dual_gradients",
    }
    assert all(code.startswith(b"\x7fELF") for code in compiled.values())


def test_cpu_tensors_are_refused_outside_of_the_interpreter() -> None:
    from drmamba.ops import triton

    values = linear_inputs(1, 3, 2)
    with pytest.raises(BackendError, match=r"CUDA tensors, got cpu.*'auto'"):
        triton.linear_scan(*values, torch.arange(3))
    with pytest.raises(BackendError, match=r"CUDA tensors, got cpu.*'auto'"):
        triton.dual_route_scan(*dual_inputs(1, 3, 2), torch.arange(3)[None])


def test_why_it_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from drmamba.ops import triton

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "TRITON_INTERPRET=1" in triton.reason_not_to_run()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert triton.reason_not_to_run() == ""
    monkeypatch.setattr(triton.kernels, "VERSION", (3, 2))
    assert triton.reason_not_to_run() == "triton 3.3 or newer is needed, got 3.2"


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    for name in ("triton", "triton_kernels"):
        monkeypatch.delitem(sys.modules, f"drmamba.ops.{name}", raising=False)
        monkeypatch.delattr(ops, name, raising=False)
    with pytest.raises(MissingExtra, match=r"triton is not installed.*\[triton\]"):
        import_module("drmamba.ops.triton")
