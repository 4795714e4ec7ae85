"""Lines that run up or down: found, seen level, and given back as they lie."""

import math

import numpy as np
import pytest
import torch
from stand_in import Darkness
from torch import nn

from drmamba.checkpoint import Provenance
from drmamba.config import PROTOCOLS, EngineConfig, InferenceConfig, WindowConfig
from drmamba.images import ArraySource
from drmamba.inference import view
from drmamba.inference.analysis import analyse_page
from drmamba.inference.analysis.orientation import orientation_score
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.view import LEVEL_SCORE, TRIAL_SIDE, busiest, is_rotated, with_rotation
from drmamba.model.network import Output


def lines(height=400, width=500, seed=0):
    """Lines of strokes that stand anywhere along them."""
    rng = np.random.default_rng(seed)
    page = rng.normal(215, 4, (height, width))
    for top in range(20, height - 30, 40):
        for left in rng.choice(np.arange(20, width - 24, 2), width // 14, replace=False):
            page[top : top + rng.integers(10, 20), left : left + 4] = 40
    return np.clip(page, 0, 255).astype(np.uint8)


class Level(Darkness):
    """Reads level lines only: where columns differ more than rows it finds nothing."""

    def forward(self, image, *, suppress=1.0, maps=False):
        found = super().forward(image, suppress=suppress, maps=maps).logits
        grey = image.mean(1)
        level = grey.mean(2).var(1) > grey.mean(1).var(1)
        logits = torch.where(level[:, None, None], found, torch.full_like(found, -20.0))
        return Output(logits, (logits,), None)


def binarizer(network: nn.Module) -> Binarizer:
    config = InferenceConfig(windows=WindowConfig(window=256, stride=192))
    engine = EngineConfig(device="cpu", workers=1)
    return Binarizer(network, config=config, engine=engine, provenance=Provenance(trained=True))


def test_level_lines_and_upright_ones_are_told_apart():
    for seed in range(5):
        page = lines(seed=seed)
        assert orientation_score(page) > LEVEL_SCORE
        assert orientation_score(np.rot90(page)) < -LEVEL_SCORE
        assert orientation_score(page) == pytest.approx(-orientation_score(np.rot90(page)), abs=0.5)


def test_a_strip_and_a_blank_page_are_level():
    assert orientation_score(lines(height=60)) == math.inf
    blank = np.full((200, 300), 255, np.uint8)
    assert not is_rotated(
        orientation_score(blank), [np.dstack([blank] * 3)], 1.0, lambda w: map(np.zeros_like, w)
    )


@pytest.mark.parametrize(
    ("orientation", "level", "upright", "want"),
    [
        (0.6, 0, 100, False),  # plainly level: nobody asks
        (0.2, 100, 120, False),  # lines do not say, and the network sees hardly more
        (0.2, 100, 130, True),
        (-2.0, 100, 90, True),  # lines say it, and the network does not object
        (-2.0, 100, 70, False),
        (-2.0, 0, 0, False),
    ],
)
def test_lines_and_the_network_decide_together(monkeypatch, orientation, level, upright, want):
    tile = np.zeros((8, 12, 3), np.uint8)
    monkeypatch.setattr(view, "_ink", lambda _, seen: level if seen.shape == tile.shape else upright)
    assert is_rotated(orientation, [tile], 1.0, lambda windows: windows) is want


def test_windows_are_seen_turned_and_answers_turned_back():
    window = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    shapes = []

    def predict(windows):
        for one in windows:
            shapes.append(one.shape)
            yield one[:, :, 0].astype(np.float32)

    (found,) = with_rotation(predict)(iter([window]))
    assert shapes == [(4, 2, 3)]
    np.testing.assert_array_equal(found, window[:, :, 0])


def test_a_page_on_its_side_is_read_as_one_that_stands():
    page = lines()
    with binarizer(Level()) as made:
        upright = made(page)
        assert upright.quality.flags == ()
        assert upright.binary.mean() > 0.05
        for quarters in (1, 3):
            found = made(np.rot90(page, quarters))
            assert found.quality.flags == ("sideways",)
            np.testing.assert_array_equal(found.binary, np.rot90(upright.binary, quarters))
        assert not made(np.rot90(page), auto_rotate=False).binary.any()


def test_a_white_on_black_page_on_its_side():
    page = 255 - np.rot90(lines())
    with binarizer(Level()) as made:
        found = made(page)
    assert set(found.quality.flags) == {"inverted", "sideways"}
    assert found.binary.mean() > 0.05


def test_the_papers_protocol_turns_nothing():
    assert not PROTOCOLS["paper"].auto_rotate
    with binarizer(Level()) as made:
        rows = ArraySource(np.rot90(lines()))
        assert made.view(rows, analyse_page(rows), made.config).rotated
        assert not made.view(rows, analyse_page(rows), PROTOCOLS["paper"]).rotated


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.5])
def test_a_trial_costs_no_more_on_an_enlarged_page(scale):
    seen = []

    def predict(windows):
        for window in windows:
            seen.append(window.shape)
            yield np.zeros(window.shape[:2], np.float32)

    is_rotated(0.0, [np.full((TRIAL_SIDE, TRIAL_SIDE, 3), 200, np.uint8)], scale, predict)
    assert len(seen) == 2
    assert max(max(shape) for shape in seen) <= TRIAL_SIDE


def test_the_busiest_square_of_a_tile_is_tried():
    tile = np.full((256, 200, 3), 220, np.uint8)
    tile[190:250:4, 110:190] = 30
    found = busiest(tile, 100)
    assert found.shape == (100, 100, 3)
    assert (found < 100).sum() > 0.75 * (tile < 100).sum()
    assert busiest(tile, 256) is tile
