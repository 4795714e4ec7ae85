"""The detail-guided reconstruction: what training computes on interleaved grids is what inference computes."""

import pytest
import torch
import torch.nn.functional as F

from drmamba.model.detail import DilatedResidual, interleaved_grids, joined_grids


def as_printed(module: DilatedResidual, x: torch.Tensor) -> torch.Tensor:
    return F.relu(x + module.second(module.first(x)))


def gradients(module: DilatedResidual, y: torch.Tensor, x: torch.Tensor) -> list[torch.Tensor]:
    weighted = (y * torch.linspace(-1, 1, y.numel()).view_as(y)).sum()
    return list(torch.autograd.grad(weighted, [x, *module.parameters()]))


@pytest.mark.parametrize("dilation", [2, 4])
def test_training_has_the_values_gradients_and_statistics_of_dilated_convolutions(dilation):
    torch.manual_seed(0)
    module = DilatedResidual(6, dilation).train()
    x = torch.randn(2, 6, 16, 24, requires_grad=True)
    expected = as_printed(module, x)
    wanted = gradients(module, expected, x)
    statistics = module.first[1].running_var.clone()
    module.first[1].reset_running_stats()
    found = module(x)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradients(module, found, x), wanted, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(module.first[1].running_var, statistics)


def test_sides_that_the_dilation_does_not_divide_are_computed_as_printed():
    torch.manual_seed(0)
    module = DilatedResidual(4, 2).train()
    x = torch.randn(1, 4, 7, 10)
    assert torch.equal(module(x), as_printed(module, x))


def test_grids_are_every_nth_pixel_and_join_again():
    x = torch.arange(2 * 3 * 4 * 6.0).view(2, 3, 4, 6)
    grids = interleaved_grids(x, 2)
    assert torch.equal(grids[1], x[0, :, 0::2, 1::2])
    assert torch.equal(grids[4 + 2], x[1, :, 1::2, 0::2])
    assert torch.equal(joined_grids(grids, 2), x)
