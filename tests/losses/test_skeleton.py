"""The compiled soft skeleton against the torch one, and both against what a skeleton is."""

import pytest
import torch

from drmamba.losses.skeleton import soft_skeleton, soft_skeleton_reference


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 1, 7), (1, 5, 1), (1, 2, 2), (3, 17, 23)])
@pytest.mark.parametrize("steps", [1, 4])
def test_compiled_matches_reference(shape: tuple[int, int, int], steps: int) -> None:
    torch.manual_seed(0)
    p, weight = torch.rand(shape), torch.rand(shape)
    results = []
    for function in (soft_skeleton, soft_skeleton_reference):
        leaf = p.clone().requires_grad_()
        value = function(leaf, steps)
        (value * weight).sum().backward()
        results.append((value.detach(), leaf.grad))
    for got, want in zip(*results, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", [soft_skeleton, soft_skeleton_reference])
def test_a_bar_keeps_its_centre_line(function) -> None:  # type: ignore[no-untyped-def]
    p = torch.zeros(1, 15, 31)
    p[:, 5:10, 5:26] = 1  # five pixels thick
    skeleton = function(p, 4)
    assert skeleton[0, 7, 7:24].eq(1).all()  # the middle row
    assert skeleton[0, 5:7, 8:23].eq(0).all()
    assert skeleton[0, 8:10, 8:23].eq(0).all()


def test_too_few_steps_leave_a_thick_stroke_out() -> None:
    p = torch.zeros(1, 21, 41)
    p[:, 5:16, 5:36] = 1  # eleven pixels thick: five erosions leave its centre line
    assert soft_skeleton(p, 3)[0, 10, 15:25].sum() == 0
    assert soft_skeleton(p, 6)[0, 10, 15:25].eq(1).all()
