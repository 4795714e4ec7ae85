"""Kept routes, fused again: the same logits as a whole forward pass with that `suppress`."""

import pytest
import torch

from drmamba.config import BlockConfig, DetailConfig, ModelConfig
from drmamba.model.network import DRMamba

SMALL = {"width": 8, "directions": 4}
BLOCKS = {
    "paper": BlockConfig(**SMALL),
    "add": BlockConfig(**SMALL, fusion="add"),
    "concat": BlockConfig(**SMALL, fusion="concat"),
    "fixed beta": BlockConfig(**SMALL, beta="fixed"),
    "single route": BlockConfig(**SMALL, routes="single"),
}


def network(block: BlockConfig) -> DRMamba:
    torch.manual_seed(0)
    detail = DetailConfig(width=4, head_width=4, dilations=(1,), fold=2)
    config = ModelConfig(encoder="convnext_atto", decoder=(16, 8, 8), block=block, detail=detail)
    return DRMamba(config).eval().requires_grad_(False)


@pytest.mark.parametrize("name", BLOCKS)
def test_fusing_kept_routes_is_the_forward_pass(name: str) -> None:
    net = network(BLOCKS[name])
    image = torch.rand(2, 3, 45, 70)
    routes = net.routes(image)
    for suppress in (0.0, 1.0, 2.5):
        want = net(image, suppress=suppress)
        with_maps = net(image, suppress=suppress, maps=True)
        torch.testing.assert_close(net.fuse(routes, suppress), want.logits, rtol=1e-4, atol=1e-5)
        assert torch.equal(net.fuse(routes, suppress), with_maps.logits)


def test_the_knob_changes_the_paper_s_network_only_where_there_is_a_gate() -> None:
    image = torch.rand(1, 3, 32, 32)
    for name, moves in {"paper": True, "add": False, "single route": False}.items():
        net = network(BLOCKS[name])
        routes = net.routes(image)
        assert torch.equal(net.fuse(routes, 0.0), net.fuse(routes, 3.0)) != moves
