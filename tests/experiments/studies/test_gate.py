"""What beta varies with, and what it is worth: on networks and numbers whose answer is known."""

import numpy as np
import pytest
import torch

from drmamba.config import BlockConfig, DetailConfig, ModelConfig
from drmamba.errors import ConfigError, InputError
from drmamba.experiments.studies.gate import (
    CHOICES,
    OWN,
    GatePage,
    GateStatistics,
    degradation_shifts,
    fm_by_beta,
    gate_statistics,
    require_gate,
    variance_shares,
    windows,
)
from drmamba.model.network import DRMamba


def build(**block) -> DRMamba:
    torch.manual_seed(0)
    config = ModelConfig(
        encoder="convnext_atto",
        decoder=(8, 8, 8),
        block=BlockConfig(width=8, **block),
        detail=DetailConfig(width=8, head_width=8, dilations=(1,), fold=2),
    )
    return DRMamba(config, backend="chunked").eval()


def page(name: str, year: str = "2001", shade: int = 200, shape: tuple[int, int] = (64, 96)) -> GatePage:
    rng = np.random.default_rng(shade)
    ink = rng.random(shape) < 0.2
    grey = np.where(ink, 40, shade) + rng.integers(-9, 9, shape)
    return GatePage(year, name, np.repeat(grey.astype(np.uint8)[..., None], 3, 2), ink)


def statistics(mean: float, variance: float = 0.0) -> GateStatistics:
    return GateStatistics(np.full(3, mean), np.full(3, variance))


def test_variance_is_divided_by_its_origin() -> None:
    assert variance_shares({("1", "a"): statistics(0.2), ("2", "a"): statistics(0.4)}).years == 100
    assert variance_shares({("1", "a"): statistics(0.2), ("1", "b"): statistics(0.4)}).pages == 100
    assert variance_shares({("1", "a"): statistics(0.3, 0.1), ("2", "b"): statistics(0.3, 0.3)}).within == 100
    found = variance_shares(
        {
            ("1", "a"): statistics(0.0, 2.0),
            ("1", "b"): statistics(2.0, 2.0),
            ("2", "a"): statistics(2.0, 2.0),
            ("2", "b"): statistics(4.0, 2.0),
        }
    )
    assert (found.years, found.pages, found.within) == pytest.approx((25, 25, 50))
    assert found.deviation == pytest.approx(2)


def test_windows_cover_a_page_once() -> None:
    seen = np.zeros((700, 1100), int)
    for place in windows(np.zeros((700, 1100, 3), np.uint8)):
        seen[place] += 1
    assert (seen == 1).all()


def test_statistics_are_those_of_all_tokens() -> None:
    network, one = build(), page("a")
    found = gate_statistics(network, one.image)
    image = torch.from_numpy(one.image.transpose(2, 0, 1)).float()[None] / 255
    with torch.no_grad():
        beta = network(image, maps=True).maps.beta[0].flatten(1).double().numpy()
    np.testing.assert_allclose(found.mean, beta.mean(1), rtol=1e-5)
    np.testing.assert_allclose(found.variance, beta.var(1), rtol=1e-4)


def test_every_beta_is_tried_and_the_own_one_is_the_networks() -> None:
    network, one, other = build(), page("a"), page("b", "2002", 120, (40, 50))
    found = {(p.year, p.name): gate_statistics(network, p.image) for p in (one, other)}
    fm = fm_by_beta(network, one, other, found)
    assert tuple(fm) == CHOICES
    image = torch.from_numpy(one.image.transpose(2, 0, 1)).float()[None] / 255
    with torch.no_grad():
        ink = (network(image).logits[0] > 0).numpy()
    hit, found_ink = (ink & one.ink).sum(), ink.sum()
    assert fm[OWN] == pytest.approx(100 * 2 * hit / (found_ink + one.ink.sum()), abs=0.05)
    with pytest.raises(InputError, match="two pages"):
        fm_by_beta(network, one, one, {(one.year, one.name): found[one.year, one.name]})


def test_a_gate_that_does_not_listen_gains_nothing() -> None:
    """With the projection of beta at zero, beta is the same on every page, and no swap changes anything."""
    network, one, other = build(), page("a"), page("b", "2002", 120)
    d = network.config.block.width
    network.block.gates.weight.data[3 * d :] = 0
    found = {(p.year, p.name): gate_statistics(network, p.image) for p in (one, other)}
    assert variance_shares(found).deviation < 1e-3
    assert len({round(value, 3) for value in fm_by_beta(network, one, other, found).values()}) == 1


class Material:
    """A supply that these degradations do not need."""


def test_degradations_move_beta() -> None:
    found = degradation_shifts(build(), [page("a"), page("b", shade=150)], ["grain", "contrast"], Material())
    assert all(size > 0 and 0 <= direction <= 1.0001 for size, direction in found.values())
    with pytest.raises(ConfigError, match="no degradation 'fire'"):
        degradation_shifts(build(), [page("a")], ["fire"], Material())


def test_a_network_without_such_a_gate_is_refused() -> None:
    require_gate(build())
    with pytest.raises(ConfigError, match="no gate"):
        require_gate(build(beta="fixed"))
