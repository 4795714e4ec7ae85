"""Windows, their weights, and pages in bands."""

import numpy as np
import pytest
from stand_in import darkness

from drmamba.config import WindowConfig
from drmamba.errors import ConfigError
from drmamba.images import ArraySource
from drmamba.inference.tiling import Axis, bands, each, places, probability


@pytest.mark.parametrize("length", [1, 2, 31, 32, 33, 63, 64, 65, 100, 1000])
@pytest.mark.parametrize("fit", [False, True])
@pytest.mark.parametrize(("window", "stride"), [(32, 1), (32, 16), (32, 31), (32, 32), (96, 80), (512, 448)])
def test_windows_cover_every_pixel_with_weights_that_sum_to_one(length, window, stride, fit):
    axis = Axis.cover(length, window, stride, fit=fit)
    assert max(axis.sizes) <= min(window, length)
    assert (axis.starts[0], axis.starts[-1] + axis.sizes[-1]) == (0, length)
    total = np.zeros(length)
    for start, size, weights in zip(axis.starts, axis.sizes, axis.weights, strict=True):
        assert weights.min() > 0
        total[start : start + size] += weights
    np.testing.assert_allclose(total, 1, atol=1e-6)
    ends = np.add(axis.starts, axis.sizes)
    assert all(ends[:-1] - axis.starts[1:] >= window - stride)


@pytest.mark.parametrize("length", [513, 700, 1024, 1300, 2480, 3508, 30_000])
def test_fitting_windows_see_fewer_pixels_twice(length):
    plain, fitted = Axis.cover(length, 512, 448), Axis.cover(length, 512, 448, fit=True)
    assert len(plain.starts) == len(fitted.starts)
    assert {size % 32 for size in fitted.sizes} == {0}
    assert max(fitted.sizes) - min(fitted.sizes) <= 32
    least = length + 64 * (len(fitted.starts) - 1)
    assert least <= sum(fitted.sizes) < least + 32


def test_an_a4_page_is_seen_little_more_than_once():
    for height, width in ((3508, 2480), (2480, 3508)):
        seen = sum(rows * columns for _, _, rows, columns in places(height, width))
        assert seen / (height * width) <= 1.12


@pytest.mark.parametrize("length", [513, 700, 1024, 1300, 2480, 3508])
def test_the_papers_windows_stay_where_they_were(length):
    axis = Axis.cover(length, 512, 256)
    count = -(-(length - 256) // 256)
    assert axis.sizes == (512,) * count
    assert axis.starts == tuple((length - 512) * i // (count - 1) for i in range(count))


@pytest.mark.parametrize("shape", [(1, 1), (1, 200), (200, 1), (32, 32), (33, 31), (97, 150)])
@pytest.mark.parametrize("stride", [16, 27, 32])
def test_a_pixelwise_prediction_comes_back_unchanged(shape, stride):
    page = np.random.default_rng(1).integers(0, 256, (*shape, 3), np.uint8)
    config = WindowConfig(window=32, stride=stride)
    np.testing.assert_allclose(probability(page, each(darkness), config), darkness(page), atol=1e-6)


def test_bands_follow_each_other_and_hold_no_more_than_a_line_of_windows():
    page = np.random.default_rng(2).integers(0, 256, (300, 70, 3), np.uint8)
    config = WindowConfig(window=64, stride=40)
    end = 0
    for band in bands(ArraySource(page), each(darkness), config):
        assert band.top == end
        assert 0 < len(band.probability) <= 64
        end += len(band.probability)
    assert end == 300


def test_rows_are_read_once_from_top_to_bottom():
    class Once(ArraySource):
        seen = 0

        def rows(self, top, bottom):
            assert top == self.seen
            self.seen = bottom
            return super().rows(top, bottom)

    source = Once(np.zeros((500, 40), np.uint8))
    assert len(list(bands(source, each(darkness), WindowConfig(window=64, stride=48)))) > 5
    assert source.seen == 500


def test_a_jump_between_windows_is_blended_smoothly():
    """Windows that disagree by 1 must not leave a step: neighbouring pixels differ by little."""
    page = np.zeros((64, 400), np.uint8)
    values = iter([0.0, 1.0] * 20)
    found = probability(
        page,
        each(lambda w: np.full(w.shape[:2], next(values), np.float32)),
        WindowConfig(stride=32, window=64),
    )
    assert np.abs(np.diff(found[0])).max() < 0.06


@pytest.mark.parametrize("wrong", [{"window": 31}, {"stride": 0}, {"stride": 641}])
def test_impossible_windows_are_refused(wrong):
    with pytest.raises(ConfigError):
        WindowConfig(**wrong)
