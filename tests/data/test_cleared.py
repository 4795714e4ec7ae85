"""Cleared regions: whole strokes go, paper takes their place, and all else stays."""

import numpy as np
import pytest
from scipy import ndimage

from drmamba.config import DegradeConfig
from drmamba.data.degrade.cleared import cleared, probabilities_after
from drmamba.data.page import LabelledPage


def page(shape: tuple[int, int] = (300, 300), dark: float = 0.2) -> LabelledPage:
    """Short strokes in rows on slightly noisy paper."""
    ink = np.zeros(shape, bool)
    for top in range(10, shape[0] - 10, 20):
        for left in range(10, shape[1] - 20, 26):
            ink[top : top + 4, left : left + 16] = True
    image = np.where(ink, dark, 0.8)[..., None] + np.random.default_rng(0).normal(0, 0.01, (*shape, 3))
    return LabelledPage(np.clip(image, 0, 1).astype(np.float32), ink)


@pytest.mark.parametrize("seed", range(8))
def test_strokes_go_whole_and_leave_paper(seed: int) -> None:
    before = page()
    after = cleared(before, np.random.default_rng(seed))
    assert not (after.ink & ~before.ink).any()
    labels, count = ndimage.label(before.ink, np.ones((3, 3)))
    left = ndimage.mean(after.ink, labels, range(1, count + 1))
    assert set(np.unique(left)) <= {0.0, 1.0}
    gone = before.ink & ~after.ink
    if gone.any():
        assert abs(float(after.image[gone].mean()) - 0.8) < 0.03
    assert abs(float(after.image[after.ink].mean()) - 0.2) < 0.03


def test_some_of_a_page_goes_and_some_stays() -> None:
    shares = [cleared(page(), np.random.default_rng(s)).ink.sum() / page().ink.sum() for s in range(24)]
    assert min(shares) < 0.4
    assert sum(0.02 < s < 0.98 for s in shares) >= 12


def test_it_is_pure_and_reproducible_and_copes_with_no_ink() -> None:
    before = page()
    image = before.image.copy()
    one, two = (cleared(before, np.random.default_rng(4)) for _ in range(2))
    assert (one.image == two.image).all()
    assert (before.image == image).all()
    blank = LabelledPage(np.full((64, 64, 3), 0.5, np.float32), np.zeros((64, 64), bool))
    assert cleared(blank, np.random.default_rng(0)) is blank
    full = LabelledPage(np.full((64, 64, 3), 0.5, np.float32), np.ones((64, 64), bool))
    assert np.isfinite(cleared(full, np.random.default_rng(0)).image).all()


def test_nothing_fades_on_a_cleared_page() -> None:
    after = probabilities_after(DegradeConfig(), 0.9)
    assert after.faint == 0
    assert after.bleed_through == 0.9
