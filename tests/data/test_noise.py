"""Random fields and single-pass layers against plain numpy and scipy."""

import numpy as np
import pytest
from scipy import ndimage

from drmamba.data.compositing import covered, darkened
from drmamba.data.degrade.passes import enlarged
from drmamba.data.filters import blur, reduced, smoothstep
from drmamba.data.noise import clouds, noise, ramp, white


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("sigma", [0.5, 1.3, 4.0])
@pytest.mark.parametrize("shape", [(17, 40), (33, 21, 3), (3, 2)])
def test_blur_is_gaussian(shape: tuple[int, ...], sigma: float) -> None:
    values = generator().random(shape, dtype=np.float32)
    sigmas = (sigma, sigma, 0)[: len(shape)]
    want = ndimage.gaussian_filter(
        values, sigmas, mode="nearest", radius=[max(1, int(np.ceil(2.5 * s))) if s else 0 for s in sigmas]
    )
    np.testing.assert_allclose(blur(values, sigma), want, atol=1e-5)


def test_blur_of_nothing_is_the_same() -> None:
    values = generator().random((5, 6), dtype=np.float32)
    assert (blur(values, 0.0) == values).all()


@pytest.mark.parametrize("cell", [1.5, 3.0, 9.0, 60.0, (2.0, 80.0)])
@pytest.mark.parametrize("shape", [(200, 300), (700, 600)])  # from the ready-made tiles, and beyond them
def test_noise_is_centred_smooth_and_reproducible(
    cell: float | tuple[float, float], shape: tuple[int, int]
) -> None:
    field = noise(generator(3), shape, cell)
    assert field.shape == shape
    assert field.dtype == np.float32
    assert (field == noise(generator(3), shape, cell)).all()
    assert (field != noise(generator(4), shape, cell)).any()
    assert 0.3 < field.std() < 1.4
    down, across = cell if isinstance(cell, tuple) else (cell, cell)
    if across > 4:  # neighbours hardly differ
        assert np.abs(np.diff(field, axis=1)).mean() < 2.5 / across
    if down > 4:
        assert np.abs(np.diff(field, axis=0)).mean() < 2.5 / down


def test_cutting_noise_leaves_the_tiles_alone() -> None:
    first = noise(generator(1), (64, 64), 2)
    first += 100
    assert np.abs(noise(generator(1), (64, 64), 2)).max() < 20
    assert abs(white(generator(), (300, 300)).std() - 1) < 0.02
    assert abs(white(generator(), (600, 600)).std() - 1) < 0.02


def test_clouds_ramp_and_step() -> None:
    assert clouds(generator(), (50, 70), 20).shape == (50, 70)
    plane = ramp(generator(), (50, 70))
    assert -1.5 < plane.min() < -0.9
    assert 0.9 < plane.max() < 1.5
    step = smoothstep(np.array([-1, 0, 0.5, 1, 2], np.float32), 0, 1)
    np.testing.assert_allclose(step, [0, 0, 0.5, 1, 1])


@pytest.mark.parametrize("shape", [(64, 64), (50, 37), (7, 90)])
def test_blocks_and_back(shape: tuple[int, int]) -> None:
    y, x = np.mgrid[: shape[0], : shape[1]].astype(np.float32)
    smooth = np.stack([y, x, y + x], 2)
    blocks = reduced(smooth, 8)
    assert blocks.shape == (-(-shape[0] // 8), -(-shape[1] // 8), 3)
    back = enlarged(blocks, shape, 8)
    assert back.shape == smooth.shape
    assert np.abs(back - smooth)[4:-12, 4:-12].max(initial=0) < 1e-2  # linear stays linear away from the edge
    np.testing.assert_allclose(
        enlarged(reduced(np.full((*shape, 3), 0.3, np.float32), 8), shape, 8), 0.3, rtol=1e-5
    )


def test_layers_against_plain_numpy() -> None:
    rng = generator()
    image, other = rng.random((2, 9, 11, 3), dtype=np.float32)
    amount, colour = rng.random((9, 11), dtype=np.float32) * 1.5, rng.random(3, dtype=np.float32)
    np.testing.assert_allclose(
        darkened(image, amount, colour), np.clip(image * (1 - amount[..., None] * colour), 0, 1), atol=1e-6
    )
    np.testing.assert_allclose(
        covered(image, amount, other), image + amount[..., None] * (other - image), atol=1e-6
    )
    np.testing.assert_allclose(
        covered(image, amount, colour), image + amount[..., None] * (colour - image), atol=1e-6
    )
    # Views of an array are accepted.
    np.testing.assert_allclose(darkened(image[:, ::-1], amount, (0, 0, 0)), image[:, ::-1])
