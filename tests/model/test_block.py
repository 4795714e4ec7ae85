"""The order of the decay rates by construction, and routes of one size at the start."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from drmamba.config import BlockConfig, preset, recipe, replace_values
from drmamba.errors import ConfigError
from drmamba.model.block import UNBALANCED_BETA, DualRouteBlock, Maps
from drmamba.model.network import DRMamba

anything = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=300, deadline=None)
@given(anything, anything)
def test_detail_decays_faster_for_any_parameter_value(rate, gap):
    block = DualRouteBlock(4, BlockConfig(width=1))
    block.rate_B.data.fill_(rate)
    block.A_gap.data.fill_(gap)
    A_D, A_B = block.rates()
    assert A_D > A_B > 0


def test_the_gap_learns():
    block = DualRouteBlock(4, BlockConfig(width=3))
    A_D, _ = block.rates()
    A_D.sum().backward()
    assert (block.A_gap.grad > 0).all()


def test_horizons_at_the_start():
    """At softplus(0), the background remembers 8 to 256 tokens and the detail about two."""
    A_D, A_B = DualRouteBlock(4, BlockConfig(width=48)).rates()
    delta = torch.nn.functional.softplus(torch.zeros(()))
    background, detail = 1 / (delta * A_B), 1 / (delta * A_D)
    assert 7 < background.min() < 10
    assert 200 < background.max() < 300
    assert detail.max() < 2.5


@pytest.mark.parametrize("horizons", [(2.0, 32.0), (16.0, 16.0), (8.0, 1024.0)])
def test_horizons_are_those_of_the_config(horizons):
    _, A_B = DualRouteBlock(4, BlockConfig(width=5, horizons=horizons)).rates()
    found = 1 / (torch.log(torch.tensor(2.0)) * A_B)
    # The slowest rate that is possible shortens the longest memory a little.
    torch.testing.assert_close(found[[0, -1]], torch.tensor(horizons), rtol=0.02, atol=0)
    torch.testing.assert_close(found[2].log(), found[[0, -1]].log().mean(), rtol=0.01, atol=0)


@pytest.mark.parametrize("horizons", [(0.5, 8.0), (8.0, 4.0)])
def test_impossible_horizons_are_refused(horizons):
    with pytest.raises(ConfigError, match=r"block\.horizons must be two numbers of tokens"):
        BlockConfig(horizons=horizons)


def page_like(height: int = 128, width: int = 160) -> torch.Tensor:
    """Dark strokes on shaded, noisy paper, (1, 3, H, W)."""
    rng = np.random.default_rng(0)
    page = np.linspace(0.6, 0.9, width)[None] + rng.normal(0, 0.03, (height, width))
    for _ in range(60):
        y, x = rng.integers(0, height - 8), rng.integers(0, width - 20)
        page[y : y + rng.integers(2, 5), x : x + rng.integers(6, 20)] = 0.15
    return torch.from_numpy(np.clip(page, 0, 1).astype(np.float32)).expand(1, 3, -1, -1)


@torch.no_grad()
def routes_at_the_start(
    directions: int, *, balanced: bool, centred: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """D and beta * B, (d, pixels), of an untrained `lite` in its first update.

    That is in training mode and on a crop as large as the recipe's. An untrained network in eval mode has batch norms
    that know nothing: its features hardly vary, and B varies mostly because every scan begins with an empty memory.
    Measured there, std D / std(beta * B) is 0.2 to 0.3 on this page.
    """
    changes = {"block": {"directions": directions, "balanced": balanced, "centred": centred}}
    torch.manual_seed(0)
    network = DRMamba(replace_values(preset("lite"), changes)).train()
    side = recipe("lite").data.crop
    D, B, beta = network(page_like(side, side), maps=True).maps
    return D[0].flatten(1), (beta * B)[0].flatten(1)


def test_a_centred_block_starts_balanced_too():
    D, background = routes_at_the_start(4, balanced=True, centred=True)
    assert 0.3 < (D.std(1) / background.std(1)).median() < 3


@pytest.mark.parametrize("directions", [1, 4])
def test_both_routes_are_of_one_size_at_the_start(directions):
    D, background = routes_at_the_start(directions, balanced=True)
    assert 0.3 < (D.std(1) / background.std(1)).median() < 3
    assert 0.8 < (D.mean(1) / background.mean(1)).median() < 1.25
    D, background = routes_at_the_start(directions, balanced=False)
    assert (D.std(1) / background.std(1)).median() < 0.3  # the same bound, missed without the balance
    assert (D.mean(1) / background.mean(1)).median() < 0.25


def test_balance_is_the_ratio_of_the_routes_sums():
    """Fed with the same number for ever, sums of decay a grow to 1 / (1 - a)."""
    block = DualRouteBlock(4, BlockConfig(width=6))
    A_D, A_B = block.rates()
    a_D, a_B = (torch.exp(-torch.log(torch.tensor(2.0)) * A).double() for A in (A_D, A_B))
    torch.testing.assert_close(block.balance.double(), (1 - a_B) / (1 - a_D), rtol=1e-4, atol=0)
    assert (block.balance < 1).all()


class TestTheSameConstantsEverywhere:
    """The gate starts with them; where the ablations have no gate, they scale B."""

    WIDTH = 6

    def block(self, **changes) -> DualRouteBlock:
        torch.manual_seed(0)
        return DualRouteBlock(4, BlockConfig(width=self.WIDTH, **changes))

    def test_the_gate_starts_with_them(self):
        block = self.block()
        bias = block.gates.bias[3 * self.WIDTH :]
        torch.testing.assert_close(bias.sigmoid(), block.balance, rtol=1e-3, atol=1e-6)

    def test_a_fixed_gate_is_them(self):
        block = self.block(beta="fixed")
        assert torch.equal(block.balance, self.block().balance)
        assert torch.equal(block.gated(torch.rand(1, 4, 2, 3))[3], block.balance.expand(1, 2, 3, -1))
        halved = block.gated(torch.rand(1, 4, 2, 3), 0.5)[3]
        assert torch.equal(halved, 0.5 * block.balance.expand(1, 2, 3, -1))

    def test_added_background_is_scaled_by_them(self):
        block = self.block(fusion="add")
        D, B = torch.rand(2, 1, 5, self.WIDTH)
        assert torch.equal(block._fused(D, B, torch.ones_like(D)), D + self.block().balance * B)

    def test_columns_that_meet_the_background_are_scaled_by_them(self):
        balanced, plain = self.block(fusion="concat"), self.block(fusion="concat", balanced=False)
        d = self.WIDTH
        assert torch.equal(balanced.join.weight[:, :d], plain.join.weight[:, :d])
        torch.testing.assert_close(balanced.join.weight[:, d:], plain.join.weight[:, d:] * balanced.balance)

    def test_unbalanced_blocks_are_as_they_were(self):
        fixed, added = self.block(beta="fixed", balanced=False), self.block(fusion="add", balanced=False)
        assert (fixed.balance == UNBALANCED_BETA).all()
        assert (added.balance == 1).all()
        assert self.block(balanced=False).gates.bias[3 * self.WIDTH :].abs().max() < 1  # as torch draws it

    def test_they_are_no_part_of_a_model_file(self):
        assert "balance" not in self.block().state_dict()


@pytest.mark.parametrize("residual", [False, True])
def test_the_input_is_added_only_if_asked_for(residual):
    torch.manual_seed(0)
    block = DualRouteBlock(4, BlockConfig(width=6, residual=residual))
    u = torch.rand(1, 4, 3, 5)
    D, B, beta = block(u, maps=True)[1]
    nothing = Maps(D * 0, B * 0, beta)  # what is left does not come through the routes
    torch.nn.init.zeros_(block.out.bias)
    torch.nn.init.zeros_(block.out_norm.bias)
    assert torch.equal(block.fuse(u, nothing), u if residual else torch.zeros_like(u))
    torch.nn.init.zeros_(block.out.weight)
    assert torch.equal(block(u)[0], u if residual else torch.zeros_like(u))
