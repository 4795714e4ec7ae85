"""DRD, counted by hand."""

import math

import numpy as np
import pytest

from drmamba.metrics.drd import drd, mixed_blocks

# One over the distance, for the five distances that occur in a 5 x 5 neighbourhood; each is shared by so many cells.
CELLS = ((1, 4), (math.sqrt(2), 4), (2, 4), (math.sqrt(5), 8), (math.sqrt(8), 4))
WHOLE = sum(n / d for d, n in CELLS)


def page(*ink: tuple[int, int], shape: tuple[int, int] = (16, 16)) -> np.ndarray:
    result = np.zeros(shape, bool)
    for place in ink:
        result[place] = True
    return result


def test_a_speck_far_from_ink_costs_one_block() -> None:
    truth = page((2, 2))
    found = page((2, 2), (11, 11))
    assert mixed_blocks(truth) == 1
    assert drd(found, truth) == pytest.approx(1.0)


def test_a_speck_in_the_corner_counts_only_cells_on_the_page() -> None:
    truth = page((8, 8))
    corner = (2 / 1 + 1 / math.sqrt(2) + 2 / 2 + 2 / math.sqrt(5) + 1 / math.sqrt(8)) / WHOLE
    assert drd(page((8, 8), (0, 0)), truth) == pytest.approx(corner)


def test_a_pixel_beside_ink_costs_less() -> None:
    truth = page((8, 8))
    assert drd(page((8, 8), (8, 9)), truth) == pytest.approx(1 - 1 / WHOLE)  # one neighbour is ink as well


def test_a_lost_pixel_costs_by_the_ink_around_it() -> None:
    truth = page(*((8, x) for x in range(4, 13)))
    assert drd(truth & ~page((8, 8)), truth) == pytest.approx((2 / 1 + 2 / 2) / WHOLE / mixed_blocks(truth))


def test_a_lonely_pixel_lost_is_no_distortion() -> None:
    assert drd(page(), page((4, 4))) == 0


def test_only_complete_blocks_count() -> None:
    truth = page((1, 1), (9, 17), shape=(17, 23))  # 2 x 2 complete blocks; columns 16 to 22 are no block
    assert mixed_blocks(truth) == 1
    full = np.ones((16, 16), bool)
    assert mixed_blocks(full) == 0


def test_without_a_mixed_block_distortion_is_infinite_and_its_absence_zero() -> None:
    blank = np.zeros((16, 16), bool)
    assert drd(page((3, 3)), blank) == math.inf
    assert drd(blank, blank) == 0
