"""Rows are unfiltered as the PNG specification says, for pixels of every size."""

import numpy as np
import pytest

from drmamba.images.reading.png_filters import unfilter


def reference(lines, above, step):
    """Undo the filters one byte at a time."""
    rows = np.empty((len(lines), lines.shape[1] - 1), np.uint8)
    for y, line in enumerate(lines):
        up = above if y == 0 else rows[y - 1]
        for x in range(rows.shape[1]):
            a, b = int(rows[y, x - step]) if x >= step else 0, int(up[x])
            c = int(up[x - step]) if x >= step else 0
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            rows[y, x] = (int(line[x + 1]) + [0, a, b, (a + b) // 2, nearest][line[0]]) & 255
    return rows


@pytest.mark.parametrize("step", [1, 2, 3, 4, 6, 8])
def test_every_filter_and_size_of_pixel(step):
    rng = np.random.default_rng(step)
    lines = rng.integers(0, 256, (17, 1 + 13 * step), np.uint8)
    lines[:, 0] = np.arange(17) % 5
    above, rows = rng.integers(0, 256, 13 * step, np.uint8), np.empty((17, 13 * step), np.uint8)
    assert unfilter(lines, above, step, rows)
    assert np.array_equal(rows, reference(lines, above, step))


def test_an_unknown_filter_is_refused():
    lines = np.zeros((3, 4), np.uint8)
    lines[1, 0] = 5
    assert not unfilter(lines, np.zeros(3, np.uint8), 1, np.empty((3, 3), np.uint8))
