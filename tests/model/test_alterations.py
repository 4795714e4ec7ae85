"""A network with a part replaced: each alteration changes what it says, and nothing else."""

import pytest
import torch

from drmamba.config import BlockConfig, DetailConfig, ModelConfig
from drmamba.model.alterations import ALTERATIONS, altered, applicable
from drmamba.model.network import DRMamba


def build(**block) -> DRMamba:
    torch.manual_seed(0)
    config = ModelConfig(
        encoder="convnext_atto",
        decoder=(16, 16, 16),
        block=BlockConfig(width=16, **block),
        detail=DetailConfig(width=8, head_width=8, dilations=(1,), fold=2),
    )
    return DRMamba(config).eval()


def page() -> torch.Tensor:
    return torch.rand(1, 3, 64, 96, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("alteration", ALTERATIONS)
@torch.no_grad()
def test_every_alteration_changes_the_result_and_leaves_the_network_alone(alteration):
    network = build()
    want = network(page()).logits
    changed = altered(network, alteration)
    assert (changed(page()).logits - want).abs().max() > 1e-5
    assert torch.equal(network(page()).logits, want)
    assert changed(page()).maps is None


@torch.no_grad()
def test_the_maps_show_what_was_replaced():
    network = build()
    D, B, beta = network(page(), maps=True).maps
    without_D, without_B, even = (
        altered(network, a)(page(), maps=True).maps for a in ("D=0", "B=0", "beta=mean")
    )
    assert not without_D.D.any()
    assert torch.equal(without_D.B, B)
    assert torch.equal(without_D.beta, beta)
    assert not without_B.B.any()
    assert torch.equal(without_B.D, D)
    torch.testing.assert_close(even.beta, beta.mean((2, 3), keepdim=True).expand_as(beta))
    assert torch.equal(even.D, D)
    assert torch.equal(even.B, B)


@torch.no_grad()
def test_without_background_the_gate_does_not_matter():
    network = altered(build(), "B=0")
    assert torch.equal(network(page(), suppress=0.0).logits, network(page(), suppress=3.0).logits)
    other = altered(build(), "D=0")
    assert not torch.equal(other(page(), suppress=0.5).logits, other(page(), suppress=3.0).logits)


@pytest.mark.parametrize("residual", [False, True])
@torch.no_grad()
def test_an_even_block_adds_the_same_everywhere(residual):
    network = build(residual=residual)
    u = torch.rand(1, 16, 8, 12, generator=torch.Generator().manual_seed(2))
    own, even = (
        net.block(u)[0] - (u if residual else 0) for net in (network, altered(network, "block=mean"))
    )
    torch.testing.assert_close(even, own.mean((2, 3), keepdim=True).expand_as(even), rtol=1e-4, atol=1e-5)
    assert own.std((2, 3)).max() > 1e-4


@pytest.mark.parametrize("fusion", ["subtract", "add"])
@torch.no_grad()
def test_without_background_a_centred_block_gives_d(fusion):
    network = build(centred=True, fusion=fusion)
    D = network(page(), maps=True).maps.D
    *_, u = network.stages(page())
    alone = network.block._output(u, D.flatten(2).transpose(1, 2))
    torch.testing.assert_close(altered(network, "B=0").block(u)[0], alone, rtol=1e-4, atol=1e-5)


def test_only_what_a_block_has_can_be_replaced():
    assert applicable(BlockConfig()) == ALTERATIONS
    assert applicable(BlockConfig(routes="single")) == ("block=mean", "deep=mean")
    for without_gate in ({"fusion": "concat"}, {"beta": "fixed"}):
        assert applicable(BlockConfig(**without_gate)) == ("D=0", "B=0", "block=mean", "deep=mean")


@torch.no_grad()
def test_without_deep_features_the_place_of_what_lies_at_strides_16_and_32_is_lost():
    network = build()
    seen = []
    changed = altered(network, "deep=mean")
    changed.decoder.decoder.register_forward_pre_hook(lambda _, inputs: seen.extend(inputs[0]))
    changed(page())
    shallow, deep = seen[:2], seen[2:]
    assert all(feature.std((2, 3)).max() > 1e-4 for feature in shallow)
    assert all(feature.std((2, 3)).max() < 1e-5 for feature in deep)
