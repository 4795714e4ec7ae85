"""Fields and passes for wide regions are those of small ones, and single passes are what numpy computes."""

import numpy as np
import pytest
import torch.nn.functional as F
from torch import from_numpy

from drmamba.data import noise, wide_noise
from drmamba.data.degrade import passes

WIDE = (700, 900)


@pytest.mark.parametrize("cell", [2.0, 3.5, 6.0, 20.0, 150.0])
def test_noise_has_unit_variance_and_its_scale_at_any_size(cell: float) -> None:
    small, large = (
        np.concatenate([wide_noise.noise(np.random.default_rng(s), shape, cell).ravel() for s in range(3)])
        for shape in ((300, 300), WIDE)
    )
    assert abs(small.std() - large.std()) < 0.35
    assert 0.5 < large.std() < 1.25
    field = wide_noise.noise(np.random.default_rng(1), WIDE, cell)
    assert field.shape == WIDE
    assert field.dtype == np.float32
    step = np.abs(np.diff(field, axis=1)).mean()
    assert step < 2.5 / cell  # smooth at its scale


def test_small_fields_are_those_of_the_noise_module() -> None:
    for cell in (2.0, 30.0, (3.0, 60.0)):
        ours, theirs = (m.noise(np.random.default_rng(3), (200, 210), cell) for m in (wide_noise, noise))
        assert (ours == theirs).all()
    ours, theirs = (m.clouds(np.random.default_rng(3), (200, 210), 50.0) for m in (wide_noise, noise))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_white_noise_and_clouds_on_wide_regions() -> None:
    assert abs(wide_noise.white(np.random.default_rng(0), WIDE).std() - 1) < 0.02
    again = [wide_noise.clouds(np.random.default_rng(5), WIDE, 120.0, octaves=2) for _ in range(2)]
    assert (again[0] == again[1]).all()
    assert 0.4 < again[0].std() < 1.6


@pytest.fixture
def picture() -> np.ndarray:
    return np.random.default_rng(0).random((37, 50, 3)).astype(np.float32)


def test_a_tone_curve_is_followed(picture: np.ndarray) -> None:
    curve = (np.linspace(0, 1, passes.STEPS + 1) ** 1.6 * 0.7 + 0.1).astype(np.float32)
    np.testing.assert_allclose(passes.toned(picture, curve), picture**1.6 * 0.7 + 0.1, atol=1e-4)


def test_tints_and_grain_are_what_numpy_computes(picture: np.ndarray) -> None:
    gains = np.array((1.1, 0.9, 1.0), np.float32)
    tinted = picture * gains
    grey = tinted.mean(2, keepdims=True)
    np.testing.assert_allclose(
        passes.tinted(picture, gains, 1.2), np.clip(grey + (tinted - grey) * 1.2, 0, 1), atol=1e-5
    )
    for channels in (1, 3):
        speckle = np.random.default_rng(1).standard_normal((37, 50, channels)).astype(np.float32)
        for dark in (False, True):
            want = picture + 0.1 * speckle * (1.5 - picture if dark else 1)
            got = passes.grained(picture, speckle, 0.1, in_the_dark=dark)
            np.testing.assert_allclose(got, np.clip(want, 0, 1), atol=1e-5)


def test_blocks_are_summed_and_enlarged_as_before(picture: np.ndarray) -> None:
    near = np.random.default_rng(2).random((37, 50)).astype(np.float32)
    sums = passes.block_sums(picture, near, 8)
    assert sums.shape == (5, 7, 4)
    np.testing.assert_allclose(
        sums[1, 2, :3], (picture * (1 - near)[..., None])[8:16, 16:24].sum((0, 1)), rtol=1e-4
    )
    np.testing.assert_allclose(sums[..., 3].sum(), (1 - near).sum(), rtol=1e-4)
    small = np.ascontiguousarray(sums[..., :3])
    want = F.interpolate(from_numpy(small).permute(2, 0, 1)[None], scale_factor=8, mode="bilinear")
    got = passes.enlarged(small, (37, 50), 8)
    np.testing.assert_allclose(got, want[0].permute(1, 2, 0)[:37, :50].numpy(), rtol=1e-4, atol=1e-4)
