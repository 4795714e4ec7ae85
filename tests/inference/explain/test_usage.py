"""The use of each route, against the altered networks themselves."""

import numpy as np
import pytest
import torch

from drmamba.config import PROTOCOLS, BlockConfig, DetailConfig, EngineConfig, ModelConfig
from drmamba.inference.explain.usage import route_usage
from drmamba.model.alterations import altered
from drmamba.model.network import DRMamba


def build(**block) -> DRMamba:
    torch.manual_seed(0)
    config = ModelConfig(
        encoder="convnext_atto",
        decoder=(8, 8, 8),
        block=BlockConfig(width=8, **block),
        detail=DetailConfig(width=8, head_width=8, dilations=(1,), fold=2),
    )
    return DRMamba(config).eval()


@pytest.fixture
def page() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, 255, (64, 96, 3), np.uint8), rng.random((64, 96)) < 0.3


@torch.no_grad()
def centred_on_its_median(network: DRMamba, image: np.ndarray) -> torch.Tensor:
    """Half of the page becomes ink, so that small changes of the logits change pixels."""
    pixels = torch.from_numpy(image.transpose(2, 0, 1)).float()[None] / 255
    network.reconstruction.predict.bias -= network(pixels).logits.median()
    return pixels


def test_the_pixels_that_change_are_those_of_the_altered_network(page):
    image, truth = page
    network = build()
    pixels = centred_on_its_median(network, image)
    parts = route_usage(network, [lambda: (image, truth)], PROTOCOLS["paper"], EngineConfig(device="cpu"))[0]
    assert [part.part for part in parts] == ["whole", "D=0", "B=0", "beta=mean", "block=mean", "deep=mean"]
    assert parts[0].pixels == 0
    with torch.no_grad():
        whole, other = (net(pixels).logits[0] > 0 for net in (network, altered(network, "block=mean")))
    want = 100 * (whole != other).float().mean().item()
    assert want > 0.05
    assert parts[4].pixels == pytest.approx(want, abs=0.05)
    hits = (whole.numpy() & truth).sum()
    assert parts[0].fm == pytest.approx(200 * hits / (whole.sum().item() + truth.sum()), abs=0.1)


def test_without_truth_there_is_no_score_and_one_route_has_one_part(page):
    image, _ = page
    parts = route_usage(
        build(routes="single"), [lambda: (image, None)], PROTOCOLS["paper"], EngineConfig(device="cpu")
    )[0]
    assert [(part.part, part.fm) for part in parts] == [
        ("whole", None),
        ("block=mean", None),
        ("deep=mean", None),
    ]
