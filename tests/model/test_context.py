"""Page context: nothing at the start, the right part of the page afterwards, however the page is looked at."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from drmamba.config import STRIDES, BlockConfig, DetailConfig, ModelConfig
from drmamba.images import read_rgb
from drmamba.model import page_tiles
from drmamba.model.context import PageContext, PageFeatures, look_in_tiles, sampled
from drmamba.model.fuse import fused
from drmamba.model.network import DRMamba

EXAMPLE = Path(__file__).parents[2] / "examples" / "faded.jpg"
SMALL = ModelConfig(
    encoder="efficientnet_lite0",
    decoder=(16, 16, 16),
    context=4,
    block=BlockConfig(width=16),
    detail=DetailConfig(width=8, head_width=8, dilations=(1,), fold=2),
)
ALONE = replace(SMALL, context=0)


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


def build(config: ModelConfig = SMALL, *, trained: bool = True) -> DRMamba:
    """A random network that has seen a page; `trained` gives its projections numbers that are not zero."""
    torch.manual_seed(0)
    network = DRMamba(config).train()
    norms = [module for module in network.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    for module in norms:  # without statistics the features of a random encoder fade to nothing
        module.momentum = 1.0
    with torch.no_grad():
        network(random(2, 3, 128, 128, seed=5))
    for module in norms:
        module.momentum = 0.1
    network.eval()
    if trained and network.context is not None:
        for parameter in network.context.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
    return network


class TestSampled:
    """The part of a page's features under a window."""

    @pytest.mark.parametrize("reduction", [4, 8])
    @pytest.mark.parametrize("stride", STRIDES[2:])
    @pytest.mark.parametrize("size", [(4, 4), (3, 5), (1, 1)])
    def test_is_grid_sample_with_border_padding(self, reduction, stride, size):
        found = random(3, 5, 6, 7)
        # Inside, between two cells, beyond the page's edges.
        place = torch.tensor([[0.0, 0.0], [131.5, 77.0], [2000.0, -300.0]])
        cell = stride * reduction  # page pixels that one cell of the map covers
        steps = [(torch.arange(count) + 0.5) * stride for count in size]
        grids = []
        for top, left in place:
            y, x = (top + steps[0]) / (cell * 6) * 2 - 1, (left + steps[1]) / (cell * 7) * 2 - 1
            grids.append(torch.stack(torch.meshgrid(y, x, indexing="ij")[::-1], -1))
        want = F.grid_sample(found, torch.stack(grids), padding_mode="border", align_corners=False)
        torch.testing.assert_close(sampled(found, place, size, stride, reduction), want, rtol=1e-4, atol=1e-5)

    def test_one_page_serves_several_windows(self):
        found, place = random(1, 2, 8, 8), torch.tensor([[0.0, 0.0], [128.0, 256.0]])
        both = sampled(found, place, (4, 4), 16, 4)
        for number in range(2):
            one = sampled(found, place[number : number + 1], (4, 4), 16, 4)
            torch.testing.assert_close(both[number : number + 1], one)

    def test_a_cell_in_the_middle_is_the_pages_own(self):
        """A window cell whose middle is the middle of a page cell takes its value as it is."""
        found = random(1, 3, 9, 9)
        middle = (
            torch.tensor([[4.0, 6.0]]) + 0.5
        ) * 16 * 4 - 8  # so that a window of one cell is centred there
        part = sampled(found, middle, (1, 1), 16, 4)
        torch.testing.assert_close(part[0, :, 0, 0], found[0, :, 4, 6])

    def test_values_in_between_are_linear(self):
        """On a map that is a ramp, what is sampled is the ramp, at any place."""
        ramp = torch.arange(10.0)[:, None] * 3 + torch.arange(12.0)[None] * 5
        place = torch.tensor([[97.0, 203.0]])
        part = sampled(ramp[None, None], place, (4, 4), 16, 4)[0, 0]
        y, x = (place[0, :, None] + (torch.arange(4) + 0.5) * 16) / 64 - 0.5
        torch.testing.assert_close(part, y[:, None] * 3 + x[None] * 5, rtol=1e-5, atol=1e-4)


class TestNetwork:
    def test_nothing_changes_at_the_start(self):
        network = build(trained=False)
        x, page, place = random(2, 3, 64, 96), random(2, 3, 64, 64, seed=2), torch.zeros(2, 2)
        assert torch.equal(network(x, page=page, place=place).logits, network(x).logits)

    def test_a_trained_network_sees_its_page(self):
        network = build()
        x, place = random(1, 3, 64, 64), torch.zeros(1, 2)
        alone = network(x).logits
        dark, light = (network(x, page=torch.full((1, 3, 64, 64), v), place=place).logits for v in (0.1, 0.9))
        assert not torch.allclose(dark, light, atol=1e-3)
        assert not torch.allclose(dark, alone, atol=1e-3)
        same = build(ALONE)
        same.load_state_dict({k: v for k, v in network.state_dict().items() if not k.startswith("context.")})
        assert torch.equal(same(x).logits, alone)

    def test_a_window_sees_the_part_it_lies_on(self):
        """Moved by as much as the page, a window gets the same features; moved alone, others."""
        network = build()
        features = [
            torch.zeros(1, w, 64 // s, 64 // s) for w, s in zip((24, 40, 112, 320), STRIDES, strict=True)
        ]
        found = PageFeatures(random(1, 112, 12, 12), random(1, 320, 6, 6))
        at = network.context(features, found, torch.tensor([[128.0, 256.0]]))
        # The features move by 256 and 128 pixels.
        moved = PageFeatures(found.f3.roll((4, 2), (2, 3)), found.f4.roll((2, 1), (2, 3)))
        for one, other in zip(
            at[2:], network.context(features, moved, torch.tensor([[384.0, 384.0]]))[2:], strict=True
        ):
            torch.testing.assert_close(one, other)
        elsewhere = network.context(features, found, torch.tensor([[384.0, 384.0]]))
        assert not torch.allclose(at[2], elsewhere[2])
        assert not torch.allclose(at[3], elsewhere[3])
        assert at[0] is features[0]
        assert at[1] is features[1]

    def test_hidden_windows_stand_alone(self):
        network = build()
        x, page, place = (
            random(2, 3, 64, 64),
            random(2, 3, 64, 64, seed=2),
            torch.tensor([[0.0, 0.0], [64, 128]]),
        )
        found = network(x, page=page, place=place, visible=torch.tensor([1.0, 0.0])).logits
        torch.testing.assert_close(found[1], network(x).logits[1], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(
            found[0], network(x, page=page, place=place).logits[0], rtol=1e-4, atol=1e-5
        )
        assert not torch.allclose(found[0], network(x).logits[0], atol=1e-3)

    def test_every_window_sees_its_own_page(self):
        network = build()
        x, pages = random(1, 3, 64, 64).expand(2, -1, -1, -1), random(2, 3, 64, 96, seed=2)
        place = torch.tensor([[64.0, 32.0], [64.0, 32.0]])
        both = network(x, page=pages, place=place).logits
        for number in range(2):
            one = network(x[:1], page=pages[number : number + 1], place=place[:1]).logits
            torch.testing.assert_close(both[number : number + 1], one, rtol=1e-3, atol=1e-4)
        assert not torch.allclose(both[0], both[1], atol=1e-3)

    def test_looking_first_is_the_same(self):
        network = build()
        x, page, place = random(1, 3, 64, 64), random(1, 3, 70, 50, seed=2), torch.tensor([[64.0, 32.0]])
        assert torch.equal(
            network(x, page=network.look(page), place=place).logits, network(x, page=page, place=place).logits
        )
        assert build(ALONE).look(page) is None

    def test_the_encoder_does_not_learn_from_the_page(self):
        network = build().train()
        before = {name: value.clone() for name, value in network.encoder.state_dict().items()}
        found = network.look(random(2, 3, 64, 64))
        (found.f3.sum() + found.f4.sum()).backward()
        assert all(parameter.grad is None for parameter in network.encoder.parameters())
        assert all(parameter.grad is not None for parameter in network.context.parameters())
        assert all(torch.equal(value, before[name]) for name, value in network.encoder.state_dict().items())

    def test_zero_projections_learn(self):
        """They start at zero, and leave it: the features that they weigh are not zero."""
        network = build(trained=False).train()
        x, page = random(2, 3, 64, 64), random(2, 3, 64, 64, seed=2)
        network(x, page=page, place=torch.zeros(2, 2)).logits.square().mean().backward()
        for projection in (network.context.f3, network.context.f4):
            assert all(parameter.grad.abs().max() > 0 for parameter in projection.parameters())

    def test_the_same_stroke_looks_different_beside_darker_ones(self):
        """Features compare a place with its surroundings, also where they lie hundreds of pixels apart."""
        network = build()
        page = torch.full((1, 3, 256, 256), 0.9)
        page[..., 40:44, 40:200] = 0.6
        beside = page.clone()
        beside[..., 136:140, 40:200] = 0.1  # 400 pixels of the page further down
        (alone, _), (compared, _) = (network.look(x) for x in (page, beside))
        assert not torch.allclose(alone[..., 2, 2:12], compared[..., 2, 2:12], atol=1e-3)

    def test_routes_and_fusing_agree_with_forward(self):
        network = build()
        x, page, place = random(1, 3, 64, 64), random(1, 3, 64, 64, seed=2), torch.tensor([[32.0, 96.0]])
        want = network(x, page=page, place=place).logits
        routes = network.routes(x, page=network.look(page), place=place)
        torch.testing.assert_close(network.fuse(routes), want, rtol=1e-4, atol=1e-5)
        quick = fused(network)(x, page=page, place=place).logits
        torch.testing.assert_close(quick, want, rtol=1e-3, atol=1e-3)


class Means:
    """Looks at a page with a formula whose reach is known: means of cells, smoothed over three."""

    def look(self, reduced):
        def cells(stride):
            height, width = reduced.shape[-2:]
            x = F.pad(reduced, (0, -width % 32, 0, -height % 32), mode="replicate")
            means = F.avg_pool2d(x, stride)
            return F.avg_pool2d(means, 3, 1, 1, count_include_pad=False)

        return PageFeatures(cells(16), cells(32))


class TestTiles:
    @pytest.mark.parametrize("shape", [(300, 210), (129, 400), (256, 257), (96, 96), (1, 300)])
    def test_tiles_make_the_whole_page(self, shape, monkeypatch):
        monkeypatch.setattr(page_tiles, "TILE", 192)
        monkeypatch.setattr(page_tiles, "OVERLAP", 64)
        page = random(1, 3, *shape)
        for found, want in zip(look_in_tiles(Means(), page), Means().look(page), strict=True):
            torch.testing.assert_close(found, want)

    def test_no_feature_depends_on_more_than_the_overlap(self, monkeypatch):
        network = build()
        # The page is 1000 pixels wide.
        page = torch.from_numpy(read_rgb(EXAMPLE)[:224].copy()).permute(2, 0, 1)[None] / 255
        with torch.no_grad():
            want = network.look(page)
            monkeypatch.setattr(page_tiles, "TILE", 896)  # a seam after 640 pixels
            found = look_in_tiles(network, page)
        for mine, whole in zip(found, want, strict=True):
            torch.testing.assert_close(mine, whole, rtol=1e-3, atol=1e-4 * float(whole.std()))

    def test_without_context_there_is_nothing_to_see(self, monkeypatch):
        monkeypatch.setattr(page_tiles, "TILE", 192)
        monkeypatch.setattr(page_tiles, "OVERLAP", 64)
        assert look_in_tiles(build(ALONE), random(1, 3, 200, 64)) is None


class TestConventions:
    BOTH = replace(ALONE, conventions=("contest", "all"))

    def test_they_differ_from_the_start(self):
        network, x = build(self.BOTH), random(1, 3, 64, 64)
        assert not torch.allclose(network(x, convention=0).logits, network(x, convention=1).logits, atol=1e-4)

    def test_without_offsets_a_network_is_one_without_conventions(self):
        network, x = build(self.BOTH), random(1, 3, 64, 64)
        network.convention.weight.data.zero_()
        single = build(ALONE)
        names = {k: v for k, v in network.state_dict().items() if not k.startswith("convention.")}
        single.load_state_dict(names)
        torch.testing.assert_close(network(x, convention=1).logits, single(x).logits)

    def test_every_item_has_its_own(self):
        network, x = build(self.BOTH), random(1, 3, 64, 64).expand(3, -1, -1, -1)
        mixed = network(x, convention=torch.tensor([1, 0, 1])).logits
        for number, asked in enumerate((1, 0, 1)):
            torch.testing.assert_close(
                mixed[number], network(x, convention=asked).logits[number], rtol=1e-4, atol=1e-5
            )
        assert not torch.allclose(mixed[0], mixed[1], atol=1e-4)

    def test_a_convention_reaches_the_reconstruction_behind_the_block(self):
        """The vector behind the block begins at zero; then the result differs, whatever the decoder is told."""
        network, x = build(replace(self.BOTH, convention_output=True)), random(1, 3, 64, 64)
        network.convention.weight.data.zero_()
        torch.testing.assert_close(network(x, convention=0).logits, network(x, convention=1).logits)
        network.convention_output.weight.data[1] = 0.5
        plain, asked = (network(x, convention=number).logits for number in (0, 1))
        assert not torch.allclose(plain, asked, atol=1e-4)
        routes = network.routes(x, convention=1)
        torch.testing.assert_close(network.fuse(routes), asked)
        mixed = network(x.expand(2, -1, -1, -1), convention=torch.tensor([1, 0])).logits
        torch.testing.assert_close(mixed, torch.cat([asked, plain]), rtol=1e-4, atol=1e-5)

    def test_only_those_that_were_asked_for_learn(self):
        network = build(self.BOTH).train()
        network(random(2, 3, 64, 64), convention=torch.tensor([1, 1])).logits.square().mean().backward()
        assert not network.convention.weight.grad[0].any()
        assert network.convention.weight.grad[1].any()


def test_projections_start_at_zero():
    context = PageContext((8, 8, 8, 8), 4)
    assert not any(parameter.any() for part in (context.f3, context.f4) for parameter in part.parameters())
