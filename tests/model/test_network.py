"""The presets, their cost, any input size, and every ablation field: each must change what it claims to change."""

from dataclasses import replace

import pytest
import torch

from drmamba.config import BlockConfig, DetailConfig, ModelConfig, preset
from drmamba.errors import ConfigError, InputError
from drmamba.model.cost import gflops, parameters
from drmamba.model.fuse import fused
from drmamba.model.network import DRMamba


def small(**changes) -> ModelConfig:
    """A network that is built and run quickly."""
    return replace(
        ModelConfig(
            encoder="convnext_atto",
            decoder=(24, 16, 16),
            block=BlockConfig(width=16),
            detail=DetailConfig(width=8, head_width=8, dilations=(1, 2), fold=2),
        ),
        **changes,
    )


def build(config: ModelConfig) -> DRMamba:
    torch.manual_seed(0)
    return DRMamba(config).eval()


def page(height: int = 64, width: int = 96) -> torch.Tensor:
    return torch.rand(1, 3, height, width, generator=torch.Generator().manual_seed(1))


class TestPresets:
    def test_tiny_is_the_papers_size_and_cost(self):
        assert parameters(preset("tiny")) == pytest.approx(33.51e6, rel=0.005)
        assert gflops(preset("tiny")) == pytest.approx(178, rel=0.02)

    def test_lite_is_a_laptops(self):
        assert parameters(preset("lite")) < 5e6
        assert gflops(preset("lite")) < 20

    def test_an_unknown_preset_names_the_known(self):
        with pytest.raises(ConfigError, match="no preset 'huge'; there are tiny, lite"):
            preset("huge")


class TestForward:
    @pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 50), (33, 31), (64, 96), (100, 3)])
    def test_any_size_comes_back_as_it_was(self, height, width):
        output = build(small())(page(height, width))
        assert output.logits.shape == (1, height, width)
        assert output.logits.isfinite().all()
        assert output.maps is None

    def test_padding_does_not_reach_a_window_of_full_size(self):
        """A page of 64 x 64 gives the same logits as the same page seen without the padding code."""
        network = build(small())
        x = page(64, 64)
        # This is what replicate padding makes of columns 65 to 96.
        wider = torch.cat([x, x[..., -1:].expand(-1, -1, -1, 32)], -1)
        assert torch.equal(network(torch.cat([x, x[..., -1:]], -1)).logits, network(wider).logits[..., :65])

    def test_maps_are_given_on_request_and_change_nothing(self):
        network = build(small())
        plain, explained = network(page()), network(page(), maps=True)
        torch.testing.assert_close(explained.logits, plain.logits, rtol=1e-4, atol=1e-5)
        D, B, beta = explained.maps
        assert D.shape == B.shape == beta.shape == (1, 16, 16, 24)
        assert (D > 0).all()
        assert (B > 0).all()
        assert ((beta > 0) & (beta < 1)).all()

    def test_suppress_scales_beta(self):
        network = build(small())
        assert torch.equal(
            network(page(), suppress=2.0, maps=True).maps.beta, 2 * network(page(), maps=True).maps.beta
        )
        assert not torch.equal(network(page(), suppress=0.0).logits, network(page()).logits)

    def test_beta_depends_on_the_page(self):
        network = build(small())
        assert not torch.equal(network(page(), maps=True).maps.beta, network(1 - page(), maps=True).maps.beta)

    def test_batches_do_not_mix(self):
        network = build(small())
        both = torch.cat([page(), 1 - page()])
        torch.testing.assert_close(network(both).logits[:1], network(page()).logits, rtol=1e-4, atol=1e-5)

    def test_autocast_runs_and_stays_close(self):
        network = build(small())
        with torch.autocast("cpu", torch.bfloat16):
            narrow = network(page()).logits
        torch.testing.assert_close(narrow.float(), network(page()).logits, rtol=0.1, atol=0.1)

    @pytest.mark.parametrize(
        ("bad", "words"),
        [
            (torch.rand(3, 8, 8), r"\(batch, 3, height, width\), got \(3, 8, 8\)"),
            (torch.rand(1, 1, 8, 8), r"got \(1, 1, 8, 8\)"),
            (torch.rand(1, 3, 0, 8), r"got \(1, 3, 0, 8\)"),
            (torch.zeros(1, 3, 8, 8, dtype=torch.uint8), "torch.uint8"),
        ],
    )
    def test_wrong_input_is_named(self, bad, words):
        with pytest.raises(InputError, match=words):
            build(small())(bad)

    @pytest.mark.parametrize("encoder", ["convnext_atto", "efficientnet_lite0"])
    def test_fusing_keeps_the_function(self, encoder):
        network = build(small(encoder=encoder))
        for module in network.modules():  # statistics that are not the identity
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.normal_(std=0.2)
                module.running_var.uniform_(0.5, 2)
                module.weight.data.uniform_(0.5, 2)
        quick = fused(network)
        assert not any(isinstance(m, torch.nn.BatchNorm2d) for m in quick.modules())
        torch.testing.assert_close(quick(page()).logits, network(page()).logits, rtol=1e-3, atol=1e-4)


VARIANTS = {
    "single route": small(block=BlockConfig(width=16, routes="single")),
    "add": small(block=BlockConfig(width=16, fusion="add")),
    "concat": small(block=BlockConfig(width=16, fusion="concat")),
    "fixed beta": small(block=BlockConfig(width=16, beta="fixed")),
    "shared decay": small(block=BlockConfig(width=16, decay="shared")),
    "one direction": small(block=BlockConfig(width=16, directions=1)),
    "eight directions": small(block=BlockConfig(width=16, directions=8)),
    "no detail": small(detail=DetailConfig(enabled=False, width=8, head_width=8, dilations=(1,), fold=2)),
    "plain": small(detail=DetailConfig(plain=True)),
    "deep supervision": small(deep_supervision=True),
    "output gate": small(block=BlockConfig(width=16, routes="single", output_gate=True)),
    "unfolded": small(detail=DetailConfig(width=8, head_width=8, dilations=(1,), fold=1)),
    "efficientnet": small(encoder="efficientnet_lite0"),
    "vmamba": small(encoder="vmamba_tiny"),
}


class TestDeepSupervision:
    def test_heads_at_strides_4_8_and_16_in_training_only(self):
        network = build(small(deep_supervision=True))
        assert [head.shape for head in network(page()).auxiliary] == [(1, 16, 24)]
        heads = network.train()(torch.cat([page(), page()])).auxiliary
        assert [head.shape for head in heads] == [(2, 16, 24), (2, 8, 12), (2, 4, 6)]

    def test_the_result_does_not_depend_on_it(self):
        with_heads, without = build(small(deep_supervision=True)), build(small())
        without.load_state_dict(with_heads.state_dict(), strict=False)
        assert torch.equal(with_heads(page()).logits, without(page()).logits)


class TestAblations:
    @pytest.mark.parametrize("name", VARIANTS)
    def test_builds_and_every_parameter_learns(self, name):
        network = build(VARIANTS[name]).train()
        output = network(torch.cat([page(64, 64), 1 - page(64, 64)]))
        sum(logits.square().mean() for logits in (output.logits, *output.auxiliary)).backward()
        idle = [n for n, p in network.named_parameters() if p.grad is None or not p.grad.isfinite().all()]
        assert idle == []

    def test_single_route_ignores_the_background(self):
        block = build(VARIANTS["single route"]).block
        names = dict(block.named_parameters())
        assert "A_gap" not in names
        assert names["gates.weight"].shape[0] == 3 * 16  # no beta
        assert not block(torch.rand(1, 16, 8, 8), maps=True)[1].B.any()

    @pytest.mark.parametrize("fusion", ["subtract", "add"])
    def test_fusion_is_what_its_name_says(self, fusion, monkeypatch):
        block = build(small(block=BlockConfig(width=16, fusion=fusion))).block
        seen = []
        monkeypatch.setattr(block.out_norm, "forward", lambda x: seen.append(x) or x)
        _, (D, B, beta) = block(torch.rand(1, 16, 8, 8), maps=True)
        O = seen[0].transpose(1, 2).view_as(D)
        # Added, the map of B is as large as D already: it has the constants that a balanced gate starts with.
        want = D - beta * B if fusion == "subtract" else D + B
        torch.testing.assert_close(O, want, rtol=1e-4, atol=1e-4)

    def test_concat_sees_both_routes(self):
        network = build(VARIANTS["concat"])
        before = network(page()).logits
        network.block.join.weight.data[:, 16:] = 0  # B no longer reaches the output
        assert not torch.equal(network(page()).logits, before)

    def test_fixed_beta_is_the_same_everywhere(self):
        network = build(VARIANTS["fixed beta"])
        beta = network(page(), maps=True).maps.beta  # (1, d, h, w)
        assert torch.equal(beta, network.block.balance[None, :, None, None].expand_as(beta))
        assert torch.equal(network(1 - page(), maps=True).maps.beta, beta)

    def test_shared_decay_has_one_rate(self):
        A_D, A_B = build(VARIANTS["shared decay"]).block.rates()
        assert torch.equal(A_D, A_B)

    def test_one_direction_never_looks_ahead(self):
        def reach(directions):
            """Which tokens change when one token of the block's input does (the local convolution muted)."""
            block = build(small(block=BlockConfig(width=16, directions=directions))).block
            block.local.weight.data.zero_()
            block.local.weight.data[:, :, 1, 1] = 1
            x = torch.rand(1, 16, 5, 7, generator=torch.Generator().manual_seed(0))
            y = x.clone()
            y[:, :8, 2, 3] += 1  # not all channels alike: the layer norm would undo it
            return ((block(x)[0] - block(y)[0]).abs().sum(1) > 1e-7)[0].flatten()

        assert not reach(1)[: 2 * 7 + 3].any()
        assert reach(1)[2 * 7 + 3 :].all()
        assert reach(4).all()

    def test_eight_directions_differ_from_four(self):
        four, eight = build(small()), build(VARIANTS["eight directions"])
        eight.load_state_dict(four.state_dict())
        assert not torch.allclose(four(page()).logits, eight(page()).logits)

    def test_without_detail_the_page_reaches_the_head_through_the_encoder_only(self):
        network = build(VARIANTS["no detail"])
        o = torch.rand(1, 16, 16, 24)
        a, b = network.reconstruction(o, page()), network.reconstruction(o, 1 - page())
        assert torch.equal(a, b)
        full = build(small()).reconstruction
        assert not torch.equal(full(o, page()), full(o, 1 - page()))

    def test_plain_up_sampling_has_nothing_at_full_resolution(self):
        network = build(VARIANTS["plain"])
        o = torch.rand(1, 16, 16, 24)
        logits = network.reconstruction(o, page())
        assert logits.shape == (1, 64, 96)
        assert torch.equal(logits, network.reconstruction(o, 1 - page()))
        coarse = network.reconstruction.predict(o)[:, 0]
        torch.testing.assert_close(logits.unfold(1, 4, 4).unfold(2, 4, 4).mean((-1, -2))[:, 1:-1, 1:-1].mean(),
                                   coarse[:, 1:-1, 1:-1].mean(), rtol=0.05, atol=0.01)  # fmt: skip
        assert sum(p.numel() for p in network.reconstruction.parameters()) == 16 + 1

    def test_fold_moves_pixels_into_channels(self):
        assert build(small()).reconstruction.predict.out_channels == 4
        assert build(VARIANTS["unfolded"]).reconstruction.predict.out_channels == 1
