"""Depth-wise convolutions and their gradients against torch's own."""

from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F

from drmamba.ops import depthwise
from drmamba.ops.depthwise import depthwise_conv2d


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def inputs(
    shape: tuple[int, ...], kernel: int, *, bias: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(shape, generator=generator).contiguous(memory_format=torch.channels_last)
    weight = torch.randn(shape[1], 1, kernel, kernel, generator=generator)
    shift = torch.randn(shape[1], generator=generator).requires_grad_() if bias else None
    return x.requires_grad_(), weight.requires_grad_(), shift


@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("shape", [(2, 8, 12, 16), (1, 5, 7, 9), (3, 13, 11, 4), (1, 3, 1, 1), (1, 2, 2, 33)])
@pytest.mark.parametrize("bias", [False, True])
def test_values_and_gradients_are_torchs(
    kernel: int, stride: int, shape: tuple[int, ...], bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = []
    own = depthwise._kernel_gradient
    monkeypatch.setattr(depthwise, "_kernel_gradient", lambda *maps: used.append(own(*maps)))
    results = []
    for run in ("ours", "theirs"):
        x, weight, shift = inputs(shape, kernel, bias=bias)
        if run == "ours":
            y = depthwise_conv2d(x, weight, shift, stride, kernel // 2)
        else:
            y = F.conv2d(x, weight, shift, stride, kernel // 2, 1, shape[1])
        (y * torch.randn(y.shape, generator=torch.Generator().manual_seed(2))).sum().backward()
        results.append([y, x.grad, weight.grad, *([] if shift is None else [shift.grad])])
    assert len(used) == 1
    for found, want in zip(*results, strict=True):
        torch.testing.assert_close(found, want, rtol=1e-4, atol=1e-4)


def test_torch_runs_where_the_loop_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise AssertionError("the loop must not run here")

    monkeypatch.setattr(depthwise, "_kernel_gradient", forbidden)
    x, weight, _ = inputs((1, 4, 6, 7), 3, bias=False)
    depthwise_conv2d(x.detach().contiguous().requires_grad_(), weight, None, 1, 1).sum().backward()
    torch.set_num_threads(2)
    depthwise_conv2d(x, weight, None, 1, 1).sum().backward()
    torch.set_num_threads(1)
    with torch.no_grad():
        assert not depthwise_conv2d(x, weight, None, 1, 1).requires_grad
    assert depthwise_conv2d(x.bfloat16(), weight.bfloat16(), None, 1, 1).dtype == torch.bfloat16


def test_a_page_that_needs_no_gradient_gets_none() -> None:
    x, weight, _ = inputs((1, 4, 6, 7), 3, bias=False)
    depthwise_conv2d(x.detach(), weight, None, 2, 1).sum().backward()
    assert weight.grad is not None
    assert weight.grad.isfinite().all()
