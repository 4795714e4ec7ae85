"""The contrast by which windows are recognised as blank paper."""

import numpy as np
import pytest

from drmamba.config import InferenceConfig
from drmamba.inference.analysis.contrast import contrast

LIMIT = InferenceConfig().min_contrast
SIDE = 200


@pytest.fixture
def paper():
    """An office scan without ink: noise at every pixel, and light that falls off to one side."""
    rng = np.random.default_rng(0)
    shade = np.linspace(250, 238, SIDE)[:, None, None]
    return shade + rng.normal(0, 1.2, (SIDE, SIDE, 3))


def scanned(levels):
    return np.clip(np.round(levels), 0, 255).astype(np.uint8)


def test_noise_and_shade_are_no_contrast(paper):
    assert np.ptp(scanned(paper)) > 2 * LIMIT
    assert contrast(scanned(paper)) < LIMIT


@pytest.mark.parametrize("place", [47, 48, 63, 64, 65])
@pytest.mark.parametrize(("width", "darkness"), [(1, 30), (2, 20), (3, 16)])
def test_a_faint_stroke_anywhere_is_contrast(paper, place, width, darkness):
    paper[100:130, place : place + width] -= darkness
    assert contrast(scanned(paper)) >= LIMIT
    assert contrast(np.ascontiguousarray(scanned(paper).transpose(1, 0, 2))) >= LIMIT


@pytest.mark.parametrize("place", range(16, 128, 16))
def test_an_edge_that_no_cell_may_hide(place):
    window = np.full((SIDE, SIDE, 3), 230, np.uint8)
    window[:, place:] = 210
    assert contrast(window) == 20


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (31, 33), (32, 32), (33, 47), (640, 33)])
def test_a_window_of_any_shape(shape):
    assert contrast(np.full((*shape, 3), (250, 10, 90), np.uint8)) == 0  # of the channels, not between them
    window = np.full((*shape, 3), 250, np.uint8)
    window[-1, -1, 2] = 10
    assert contrast(window) >= (60 if shape != (1, 1) else 0)
