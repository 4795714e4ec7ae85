"""The two kinds of decoder stages."""

import pytest
import torch
import torch.nn.functional as F

from drmamba.config import BlockConfig, ModelConfig
from drmamba.model.cost import gflops
from drmamba.model.decoder import Decoder, ProjectingStage
from drmamba.model.fuse import fused
from drmamba.model.network import DRMamba

ENCODER, WIDTHS = (8, 12, 16, 24), (10, 6, 4)


@pytest.mark.parametrize("projected", [False, True])
def test_stages_meet_the_skipped_features_at_their_resolution(projected: bool) -> None:
    decoder = Decoder(ENCODER, WIDTHS, projected=projected)
    features = [torch.rand(2, width, 32 // 2**i, 48 // 2**i) for i, width in enumerate(ENCODER)]
    assert [u.shape for u in decoder(features)] == [(2, 10, 8, 12), (2, 6, 16, 24), (2, 4, 32, 48)]


def test_a_projection_before_enlarging_equals_one_after() -> None:
    stage = ProjectingStage(24, 16, 10).eval()
    deep, skip = torch.rand(1, 24, 4, 6), torch.rand(1, 16, 8, 12)
    large = F.interpolate(deep, scale_factor=2.0, mode="nearest")
    expected = stage.mix(stage.deep(large) + stage.skip(skip))
    torch.testing.assert_close(stage(deep, skip), expected)


def test_deep_features_count_as_much_as_shallow_ones_that_are_a_hundred_times_larger() -> None:
    torch.manual_seed(0)
    stage = ProjectingStage(24, 16, 10).train()
    deep, skip = torch.randn(2, 4, 24, 8, 12) * 0.1, torch.randn(2, 4, 16, 16, 24) * 10
    with torch.no_grad():
        result = stage(deep[0], skip[0])
        by_deep, by_skip = stage(deep[1], skip[0]) - result, stage(deep[0], skip[1]) - result
    assert 0.3 < by_deep.std() / by_skip.std() < 3


def test_projections_cost_less_and_fold_for_inference() -> None:
    block = BlockConfig(width=8)
    plain = ModelConfig(encoder="convnext_atto", decoder=(64, 32, 16), block=block)
    config = ModelConfig(encoder="convnext_atto", decoder=(64, 32, 16), block=block, projected=True)
    assert gflops(config, 64) < gflops(plain, 64)
    network = DRMamba(config)
    page = torch.rand(1, 3, 64, 64)
    network.train()(page.expand(2, -1, -1, -1))  # the running statistics are no longer those of the start
    network.eval()
    with torch.no_grad():
        torch.testing.assert_close(fused(network)(page).logits, network(page).logits, rtol=1e-3, atol=1e-4)
