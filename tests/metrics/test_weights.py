"""The weight maps against an independent program's, on pages made for it, and against hand-made ones."""

import time
from pathlib import Path

import numpy as np
import pytest

from drmamba.images import read_ink
from drmamba.metrics import read_weights, weight_maps

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.mark.parametrize("name", ["strokes", "crumbs", "clouds", "far"])
def test_the_maps_equal_those_of_the_contest(name: str) -> None:
    truth = read_ink(FIXTURES / f"{name}.png")
    wanted = read_weights(FIXTURES, name, truth)
    assert wanted is not None
    got = weight_maps(truth)
    np.testing.assert_allclose(got.recall, wanted.recall, rtol=0, atol=1e-6)
    np.testing.assert_allclose(got.precision, wanted.precision, rtol=0, atol=1e-6)
    assert (got.recall > 0).sum() > 100 < (got.precision > 0).sum()


@pytest.mark.parametrize("part", [np.s_[:, :], np.s_[7:, :], np.s_[:, 3:], np.s_[::-1, :]])
def test_the_layout_of_the_array_does_not_matter(part: tuple[slice, slice]) -> None:
    truth = read_ink(FIXTURES / "crumbs.png")[part]
    got, wanted = weight_maps(np.asfortranarray(truth)), weight_maps(truth.copy())
    np.testing.assert_array_equal(got.recall, wanted.recall)
    np.testing.assert_array_equal(got.precision, wanted.precision)


def test_a_bar_of_three_rows_weighs_as_counted_by_hand() -> None:
    truth = np.zeros((40, 60), bool)
    truth[20:23, 10:50] = True
    maps = weight_maps(truth)
    # Across the bar: contour, skeleton, contour. The distances 0, 1, 0 sum to 2 halves.
    np.testing.assert_allclose(maps.recall[18:25, 30], [0, 0, 0, 0.5, 0, 0, 0])
    # Stroke width 4: the weight of false ink rises to 1 within it and is 0 beyond.
    np.testing.assert_allclose(maps.precision[23:29, 30], [0.25, 0.5, 0.75, 1, 0, 0])
    assert not maps.precision[truth].any()


def test_thick_and_thin_strokes_weigh_alike_across() -> None:
    truth = np.zeros((60, 80), bool)
    truth[5:10, 5:75] = truth[20:27, 5:75] = truth[35:50, 5:75] = True
    maps = weight_maps(truth)
    for rows in (slice(5, 10), slice(20, 27), slice(35, 50)):
        assert maps.recall[rows, 40].sum() == pytest.approx(1)


def test_the_gap_between_two_strokes_bounds_the_weight() -> None:
    truth = np.zeros((40, 60), bool)
    truth[5:35, 10:17] = truth[5:35, 20:27] = True
    middle, beside = weight_maps(truth).precision[20, 18], weight_maps(truth).precision[20, 8]
    assert middle == 1.0  # half-way to the neighbour counts as a full stroke width
    assert beside == pytest.approx(2 / 6)  # on the free side it takes the stroke width, which is read as six


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 2), (30, 40)])
@pytest.mark.parametrize("value", [False, True])
def test_uniform_pages_have_finite_maps(shape: tuple[int, int], value: bool) -> None:
    maps = weight_maps(np.full(shape, value))
    assert np.isfinite(maps.recall).all()
    assert not maps.precision.any()
    assert maps.recall.any() == value


def test_weights_stay_within_their_bounds() -> None:
    rng = np.random.default_rng(5)
    for density in (0.02, 0.3, 0.5, 0.8):
        truth = rng.random((70, 90)) < density
        maps = weight_maps(truth)
        assert not maps.recall[~truth].any()
        assert not maps.precision[truth].any()
        assert 0 <= maps.precision.min() <= maps.precision.max() <= 2
        assert maps.recall.min() >= 0


@pytest.mark.slow
def test_large_pages_take_seconds_whatever_is_on_them() -> None:
    rows = np.zeros((3000, 2000), bool)  # as text would lie: 40 rows of strokes 5 wide
    for top in range(40, 2900, 70):
        for left in range(60, 1900, 17):
            rows[top : top + 36, left : left + 5] = True
    framed = rows.copy()
    framed[:25] = framed[-25:] = framed[:, :25] = framed[:, -25:] = True
    weight_maps(rows[:50, :50])  # compiled before the clock runs
    for page, limit in ((rows, 4), (framed, 8), (np.ones_like(rows), 10), (np.zeros_like(rows), 4)):
        start = time.process_time()  # other work on the machine must not fail this
        weight_maps(page)
        assert time.process_time() - start < limit
