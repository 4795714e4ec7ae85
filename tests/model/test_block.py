"""The order of the decay rates by construction, and routes of one size at the start."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from drmamba.config import BlockConfig, preset, recipe, replace_values
from drmamba.errors import ConfigError
from drmamba.model.block import GAP, MIDDLE_BETA, DualRouteBlock, Maps
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
    """Without the balance the background is larger, in every channel by as much as the constants say."""
    D, background = routes_at_the_start(directions, balanced=True)
    assert 0.3 < (D.std(1) / background.std(1)).median() < 3
    assert 0.8 < (D.mean(1) / background.mean(1)).median() < 1.25
    same_D, unbalanced = routes_at_the_start(directions, balanced=False)
    assert torch.equal(same_D, D)
    assert (D.std(1) / unbalanced.std(1)).median() < 0.3  # the lower bound of a balanced block
    assert (D.mean(1) / unbalanced.mean(1)).median() < 0.25
    expected = MIDDLE_BETA / DualRouteBlock(4, replace(preset("lite").block, centred=False)).balance
    assert expected.median() > 4
    means, spreads = unbalanced.mean(1) / background.mean(1), unbalanced.std(1) / background.std(1)
    # Over four seeds: means 0.87 to 1.12, spreads 0.53 to 0.98, since beta itself varies.
    assert (means / expected - 1).abs().max() < 0.2
    assert (spreads / expected).min() > 0.45
    assert (spreads / expected).max() < 1.1


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

    @pytest.mark.parametrize("centred", [False, True])
    @pytest.mark.parametrize("fusion", ["add", "concat"])
    def test_background_that_no_gate_scales_is_scaled_by_them(self, fusion, centred):
        block = self.block(fusion=fusion, centred=centred)
        D, B = torch.rand(2, 1, 5, self.WIDTH)
        seen = self.block().balance * B - (block.B_0 if centred else 0)
        want = D + seen if fusion == "add" else block.join(torch.cat([D, seen], -1))
        assert torch.equal(block.combined(D, block.scaled(B), torch.ones_like(D)), want)

    def test_every_fusion_of_a_centred_block_works_on_the_same_signals(self):
        """With the weights of D - beta B in the joining layer, concatenation is subtraction."""
        fixed, joined = (self.block(centred=True, **c) for c in ({"beta": "fixed"}, {"fusion": "concat"}))
        eye = torch.eye(self.WIDTH)
        joined.join.weight.data = torch.cat([eye, -MIDDLE_BETA * eye], 1)
        joined.join.bias.data.zero_()
        joined.load_state_dict(fixed.state_dict(), strict=False)
        u = torch.rand(1, 4, 3, 5)
        torch.testing.assert_close(joined(u)[0], fixed(u)[0], rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("one_rate", [{"routes": "single"}, {"decay": "shared"}])
    def test_where_there_is_one_rate_they_scale_what_enters_the_recurrence(self, one_rate):
        """Otherwise the layer norm after the block would see little but the slowest channels."""
        block, plain = self.block(**one_rate), self.block(balanced=False, **one_rate)
        u = torch.rand(1, 4, 2, 3)
        torch.testing.assert_close(block.gated(u)[1], plain.gated(u)[1] * self.block().balance)
        assert (block.balance == 1).all()  # both routes, if there are two, have the same factor

    @torch.no_grad()
    def test_a_channel_with_one_slow_rate_is_as_large_as_the_fast_route(self):
        even = {"s": 0.5, "g": 0.5, "delta": float(np.log(2))}
        block = self.block(routes="single", horizons=(4.0, 64.0))
        s, g, delta = (torch.full((1, 2000, self.WIDTH), value) for value in even.values())
        _, A_B = block.rates()
        orders = torch.arange(2000)[None]
        h = block._sum_scans(torch.exp(-delta * A_B), g * block.gain * s, orders)[0, -1]
        fast = 0.25 / (1 - torch.exp(-delta[0, 0] * (A_B + GAP)))
        torch.testing.assert_close(h, fast, rtol=1e-3, atol=0)

    @pytest.mark.parametrize("changes", [{"centred": True}, {"decay": "shared"}, {"balanced": False}])
    def test_elsewhere_the_gate_starts_in_the_middle(self, changes):
        block = self.block(**changes)
        assert block.gates.bias[3 * self.WIDTH :].abs().max() < 1  # as torch draws it
        assert (self.block(beta="fixed", **changes).fixed_beta == MIDDLE_BETA).all()

    def test_unbalanced_blocks_have_none(self):
        for changes in ({"fusion": "add"}, {"routes": "single"}, {"decay": "shared"}):
            block = self.block(balanced=False, **changes)
            assert (block.balance == 1).all()
            assert (block.gain == 1).all()

    def test_they_are_no_part_of_a_model_file(self):
        assert not {"balance", "gain"} & self.block().state_dict().keys()


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


@torch.no_grad()
def test_the_output_gate_is_that_of_a_conventional_block():
    """The normed output times silu of a projection of the normed input; a gate of nothing lets nothing pass."""
    torch.manual_seed(0)
    block = DualRouteBlock(4, BlockConfig(width=6, routes="single", output_gate=True))
    u = torch.rand(1, 4, 3, 5)
    O_DR = torch.rand(1, 15, 6)
    tokens = block.norm(u.permute(0, 2, 3, 1).reshape(1, 15, 4))
    gate = torch.nn.functional.silu(block.output_gate(tokens))
    want = block.out(block.out_norm(O_DR) * gate).view(1, 3, 5, 4).permute(0, 3, 1, 2)
    torch.testing.assert_close(block._output(u, O_DR), want)
    torch.nn.init.zeros_(block.output_gate.weight)
    torch.nn.init.zeros_(block.output_gate.bias)
    torch.testing.assert_close(block(u)[0], block.out.bias[:, None, None].expand(1, 4, 3, 5))
