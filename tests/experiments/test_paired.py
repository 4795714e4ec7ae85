"""Paired differences, against numbers worked out by hand."""

import math

import pytest

from drmamba.experiments.paired import interval, paired_difference

PAGES = [("2018", "1"), ("2018", "2"), ("2019", "1")]


def scores(*by_seed: tuple[float, ...]) -> dict[int, dict[tuple[str, str], float]]:
    return {seed: dict(zip(PAGES, values, strict=False)) for seed, values in enumerate(by_seed)}


def test_an_interval_is_students() -> None:
    found = interval([1.0, 2.0, 3.0])
    assert found.mean == 2
    assert found.high - 2 == pytest.approx(4.302653 * 1 / math.sqrt(3), rel=1e-6)  # t of 2 degrees of freedom
    assert found.sign == 0
    assert interval([1.0, 1.1, 0.9]).sign == 1
    assert interval([-1.0, -1.1, -0.9]).sign == -1


def test_one_value_decides_nothing() -> None:
    assert interval([5.0]).sign == 0
    assert interval([5.0]).high == math.inf
    assert interval([]).size == 0


def test_differences_are_of_the_same_seed_and_page() -> None:
    """The seeds differ by ten points and the rows by one: paired, that is exact."""
    one, other = (
        scores((91.0, 81.0, 71.0), (81.0, 71.0, 61.0)),
        scores((90.0, 80.0, 70.0), (80.0, 70.0, 60.0)),
    )
    found = paired_difference(one, other)
    assert found is not None
    assert found.seeds[:3] == (1, 1, 1)
    assert found.pages[:3] == (1, 1, 1)
    assert (found.wins, found.losses, found.steady_wins, found.steady_losses) == (3, 0, 3, 0)
    assert found.sign == 1


def test_wins_losses_and_the_pages_that_change_most() -> None:
    found = paired_difference(
        scores((5.0, 1.0, 2.0), (3.0, -3.0, 2.0)), scores((0.0, 0.0, 2.0), (0.0, 0.0, 2.0))
    )
    assert found is not None
    assert found.by_page == {PAGES[0]: 4.0, PAGES[1]: -1.0, PAGES[2]: 0.0}
    assert (found.wins, found.losses) == (1, 1)
    assert (found.steady_wins, found.steady_losses) == (1, 0)  # the seeds disagree on the second page
    assert found.extremes(2) == ([PAGES[0]], [PAGES[1]])
    assert found.sign == 0


def test_what_only_one_of_them_has_is_left_out() -> None:
    found = paired_difference(scores((1.0, 2.0), (9.0, 9.0)), scores((0.0, 0.0, 7.0)))
    assert found is not None
    assert found.seeds.size == 1
    assert found.pages.size == 2
    assert found.seeds.mean == 1.5
    assert paired_difference(scores((1.0,)), {}) is None
