"""Batch norm with its clamp against torch's own, where it runs and where torch's runs in its place."""

from collections.abc import Iterator
from copy import deepcopy

import pytest
import torch
import torch.nn.functional as F

from drmamba.model.norm import LIMITS, NormAct
from drmamba.ops.batch_norm import batch_norm_clamp, runs_here

ACTIVATIONS = {"none": lambda x: x, "relu": F.relu, "relu6": F.relu6}
# Pixels not a multiple of a block of 64, channels not of 8, a single column.
SHAPES = [(2, 8, 6, 7), (3, 13, 5, 9), (1, 1, 3, 3), (2, 24, 33, 1), (1, 5, 70, 31)]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def features(shape: tuple[int, ...], seed: int = 0) -> torch.Tensor:
    """Channels of different means and spreads, channels-last."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator) * torch.linspace(0.5, 4, shape[1])[:, None, None] + 1.5
    return x.contiguous(memory_format=torch.channels_last).requires_grad_()


def norm(width: int, activation: str) -> NormAct:
    torch.manual_seed(1)
    module = NormAct(width, activation, eps=1e-3).train()  # type: ignore[arg-type]
    with torch.no_grad():
        module.weight.uniform_(0.5, 3)
        module.bias.uniform_(-2, 3)  # some values beyond 6, some below 0
    return module


def plain(module: NormAct) -> torch.nn.BatchNorm2d:
    """A plain batch norm with the same weights and statistics."""
    twin = torch.nn.BatchNorm2d(module.num_features, eps=module.eps).train(module.training)
    twin.load_state_dict(module.state_dict())
    return twin


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_values_statistics_and_gradients_are_torchs(shape: tuple[int, ...], activation: str) -> None:
    ours = norm(shape[1], activation)
    theirs = plain(ours)
    for step in range(2):  # statistics move from where they are
        x, y = features(shape, step), features(shape, step)
        assert runs_here(x)
        found, want = ours(x), ACTIVATIONS[activation](theirs(y))
        torch.testing.assert_close(found, want, rtol=1e-4, atol=1e-5)
        assert found.is_contiguous(memory_format=torch.channels_last)
        weights = torch.randn(shape, generator=torch.Generator().manual_seed(9))
        for result in (found, want):
            (result * weights).sum().backward()
        torch.testing.assert_close(x.grad, y.grad, rtol=1e-3, atol=1e-4)
    for name, value in theirs.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], value, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(ours.weight.grad, theirs.weight.grad, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(ours.bias.grad, theirs.bias.grad, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_eval_mode_is_torchs(activation: str) -> None:
    ours = norm(7, activation).eval()
    ours.running_mean.normal_()
    ours.running_var.uniform_(0.5, 2)
    x = features((2, 7, 4, 5)).detach()
    assert torch.equal(ours(x.clone()), ACTIVATIONS[activation](plain(ours)(x.clone())))
    assert ours.num_batches_tracked == 0


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_not_a_number_passes_through(activation: str) -> None:
    """A broken update must be noticed, not clamped to a number."""
    module = norm(3, activation)
    x = features((1, 3, 8, 9)).detach()
    x[0, 1, 2, 2] = float("nan")
    found = module(x)
    assert found[:, 1].isnan().all()
    assert found[:, [0, 2]].isfinite().all()
    values, mean, variance = batch_norm_clamp(x, module.weight, module.bias, 1e-3, *LIMITS[activation])  # type: ignore[index]
    assert values[:, 1].isnan().all()
    assert mean[1].isnan()
    assert variance[1].isnan()


def test_not_a_number_in_a_gradient_passes_through() -> None:
    x = features((1, 3, 8, 9))
    gradient = torch.ones(1, 3, 8, 9)
    gradient[0, 2, 4, 4] = float("nan")
    norm(3, "none")(x).backward(gradient)
    assert x.grad is not None
    assert x.grad[:, 2].isnan().all()
    assert x.grad[:, :2].isfinite().all()


def test_the_input_stays_as_it_is() -> None:
    """The gradient needs it; the activation must not be in place there."""
    x = features((2, 4, 5, 5)).detach()
    before = x.clone()
    norm(4, "relu6")(x)
    assert torch.equal(x, before)


class TestWhereTorchRuns:
    def test_with_several_threads(self) -> None:
        torch.set_num_threads(2)
        assert not runs_here(features((1, 4, 5, 5)))
        self.same(features((1, 4, 5, 5)).detach())

    def test_in_other_precisions(self) -> None:
        assert not runs_here(features((1, 4, 5, 5)).bfloat16())
        assert not runs_here(features((1, 4, 5, 5)).double())
        ours = norm(4, "relu")
        assert ours(features((1, 4, 5, 5)).detach().bfloat16()).dtype == torch.bfloat16

    def test_with_another_order_of_memory(self) -> None:
        x = features((1, 4, 5, 6)).detach().contiguous()
        assert not runs_here(x)
        self.same(x)

    def same(self, x: torch.Tensor) -> None:
        ours = norm(4, "relu")
        theirs = deepcopy(plain(ours))
        assert torch.equal(ours(x.clone()), F.relu(theirs(x.clone())))
        assert torch.equal(ours.running_var, theirs.running_var)
