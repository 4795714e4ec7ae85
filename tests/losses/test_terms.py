"""Each term on tiny hand-made tensors: values worked out by hand, and gradients that point the right way."""

import math

import pytest
import torch

from drmamba.losses import terms


def page(*rows: str) -> torch.Tensor:
    """(1, H, W): '#' is 1, '.' is 0."""
    return torch.tensor([[[float(c == "#") for c in row] for row in rows]])


def test_sdf_by_hand() -> None:
    P = torch.tensor([[[2.0, 0.0]]])
    distance = torch.tensor([[[1.0, 0.25]]])
    want = (0.5 * (1 - math.tanh(0.5)) ** 2 + 0.5 * 0.25**2) / 2
    assert terms.sdf(P, distance, T=4.0).item() == pytest.approx(want)


def test_sdf_is_zero_where_the_logits_are_the_distance() -> None:
    distance = torch.tensor([[[-0.9, -0.125, 0.125, 0.5]]])
    assert terms.sdf(4 * torch.atanh(distance), distance, T=4.0).item() == pytest.approx(0, abs=1e-12)


def test_bce_by_hand() -> None:
    P, y = torch.tensor([[[0.0, math.log(3)]]]), torch.tensor([[[1.0, 0.0]]])
    assert terms.bce(P, y).item() == pytest.approx((math.log(2) + math.log(4)) / 2)


def test_tversky_by_hand() -> None:
    p, y = torch.tensor([[[1.0, 0.5, 0.5, 0.0]]]), page("##..")
    # found 1.5, false ink 0.5, lost ink 0.5
    assert terms.tversky(p, y, 0.7, 0.3).item() == pytest.approx(1 - 2.5 / (1.5 + 0.35 + 0.15 + 1))


def test_tversky_punishes_a_thick_stroke_more_than_a_thin_one() -> None:
    y = page("......", ".####.", "......")
    thick, thin = page("......", "######", "......"), page("......", "..##..", "......")
    assert terms.tversky(thick, y, 0.7, 0.3) > terms.tversky(thin, y, 0.7, 0.3)


def test_pseudo_f_by_hand() -> None:
    p, y, skeleton = page("##", "#."), page("##", "##"), page("##", "..")
    # precision (3 + 1) / (3 + 1), recall (2 + 1) / (2 + 1): the lost pixel is not skeleton
    assert terms.pseudo_f(p, y, skeleton).item() == pytest.approx(0)
    p = page("#.", "##")
    assert terms.pseudo_f(p, y, skeleton).item() == pytest.approx(1 - 2 * (2 / 3) / (1 + 2 / 3))


def test_cldice_sees_a_gap() -> None:
    y = page(*["." * 13, "." + "#" * 11 + ".", "." * 13])
    whole, broken = y.clone(), y.clone()
    broken[0, 1, 5:8] = 0
    assert terms.cldice(whole, y, y, 3).item() == pytest.approx(0, abs=1e-6)
    # skeleton of the prediction inside y: (8 + 1) / (8 + 1); y's inside the prediction: (8 + 1) / (11 + 1)
    assert terms.cldice(broken, y, y, 3).item() == pytest.approx(1 - 2 * 0.75 / 1.75)


def test_boundary_counts_false_ink_on_the_blank_side_of_the_band_only() -> None:
    y, band = page("##...."), page("####..")
    assert terms.boundary(page("##...."), y, band).item() == 0
    # The denominator is two blank pixels, and the 1.
    assert terms.boundary(page("..#..."), y, band).item() == pytest.approx(1 / 3)
    assert terms.boundary(page(".....#"), y, band).item() == 0


def test_auxiliary_target_is_the_max_pooled_ink() -> None:
    y = page("....", ".#..", "....", "....")
    P = torch.tensor([[[20.0, -20.0], [-20.0, -20.0]]])
    assert terms.auxiliary(P, y).item() == pytest.approx(0, abs=1e-6)
    assert terms.auxiliary(-P, y).item() == pytest.approx(20)


TERMS = {
    "sdf": lambda P, y: terms.sdf(P, 2 * y - 1, 4.0),
    "bce": terms.bce,
    "tversky": lambda P, y: terms.tversky(P.sigmoid(), y, 0.7, 0.3),
    "pseudo_f": lambda P, y: terms.pseudo_f(P.sigmoid(), y, y),
    "cldice": lambda P, y: terms.cldice(P.sigmoid(), y, y, 3),
    "boundary": lambda P, y: terms.boundary(P.sigmoid(), y, torch.ones_like(y)),
    "auxiliary": lambda P, y: terms.auxiliary(P[:, ::2, ::2], y),
}


@pytest.mark.parametrize("name", TERMS)
def test_gradients_point_the_right_way(name: str) -> None:
    torch.manual_seed(0)
    y = torch.zeros(2, 12, 12)
    y[:, 5:7, 2:10] = 1
    P = torch.randn(2, 12, 12, requires_grad=True)
    before = TERMS[name](P, y)
    before.backward()
    assert P.grad is not None
    assert before.item() >= 0
    # The auxiliary ink is larger than y; clDice gains from a thinner skeleton as well as from less false ink.
    if name not in ("auxiliary", "cldice"):
        assert (P.grad[y == 0] >= -1e-6).all(), "false ink must go down"
    if name not in ("boundary", "cldice"):
        assert (P.grad[y == 1] <= 1e-6).all(), "true ink must go up"
    after = TERMS[name]((P - 0.1 * P.grad / P.grad.norm()).detach(), y)
    assert after < before


@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("ink", [0.0, 1.0])
@pytest.mark.parametrize("level", [-60.0, 0.0, 60.0])
def test_finite_on_pages_of_one_colour(name: str, ink: float, level: float) -> None:
    P = torch.full((2, 9, 11), level, requires_grad=True)
    value = TERMS[name](P, torch.full((2, 9, 11), ink))
    value.backward()
    assert P.grad is not None
    assert value.isfinite()
    assert P.grad.isfinite().all()
