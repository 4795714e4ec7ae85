"""Measures that follow from the counts, counted by hand."""

import math

import numpy as np
import pytest

from drmamba.errors import MetricError
from drmamba.metrics import count
from drmamba.metrics.counts import Counts, f_measure, nrm, precision, psnr, recall

TRUTH = np.array([[1, 1, 0, 0], [1, 0, 0, 0]], bool)
FOUND = np.array([[1, 0, 0, 1], [1, 0, 0, 0]], bool)


def test_counts_and_measures_of_a_tiny_page() -> None:
    counts = count(FOUND, TRUTH)
    assert counts == Counts(tp=2, fp=1, fn=1, tn=4)
    assert counts.total == 8
    assert precision(counts) == pytest.approx(200 / 3)
    assert recall(counts) == pytest.approx(200 / 3)
    assert f_measure(counts) == pytest.approx(200 / 3)
    assert psnr(counts) == pytest.approx(10 * math.log10(4))
    assert nrm(counts) == pytest.approx((1 / 3 + 1 / 5) / 2)


@pytest.mark.parametrize(
    ("counts", "fm", "noise"),
    [
        (Counts(tp=5, fp=0, fn=0, tn=3), 100.0, math.inf),
        (Counts(tp=0, fp=0, fn=0, tn=8), 100.0, math.inf),  # a blank page left blank
        (Counts(tp=0, fp=0, fn=4, tn=4), 0.0, 10 * math.log10(2)),  # all white
        (Counts(tp=0, fp=8, fn=0, tn=0), 0.0, 0.0),  # a blank page turned black
        (Counts(tp=4, fp=4, fn=0, tn=0), 200 / 3, 10 * math.log10(2)),  # all black
    ],
)
def test_every_extreme_has_a_value(counts: Counts, fm: float, noise: float) -> None:
    assert f_measure(counts) == pytest.approx(fm)
    assert psnr(counts) == pytest.approx(noise)
    assert all(math.isfinite(measure(counts)) for measure in (precision, recall, nrm))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (np.zeros((2, 5), bool), "5 x 2 pixels and the ground truth 4 x 2"),
        (np.array([[0, 255, 0, 0], [0, 0, 0, 0]], np.uint8), "uint8, not a boolean"),
        (np.zeros((2, 4)), "threshold a grey page"),
        (np.zeros((2, 4, 3), bool), r"shape \(2, 4, 3\)"),
        (np.zeros((0, 4), bool), "both above 0"),
        ([[True]], "list, not a boolean"),
    ],
)
def test_what_is_no_page_is_refused(found: np.ndarray, words: str) -> None:
    with pytest.raises(MetricError, match=words):
        count(found, TRUTH)
