"""All scores of a page: against an independent program, at the extremes, and by their laws."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from drmamba.errors import MetricError
from drmamba.images import read_ink
from drmamba.metrics import (
    DEFINITIONS,
    NAMES,
    Scores,
    Weights,
    read_weights,
    score,
    skeleton_f_measure,
    summarize,
)
from drmamba.metrics.shapes import chessboard
from drmamba.metrics.skeleton import thin

FIXTURES = Path(__file__).parent / "fixtures"
ORACLE = json.loads((FIXTURES / "scores.json").read_text())["scores"]

masks = st.tuples(st.integers(1, 40), st.integers(1, 40)).flatmap(lambda shape: arrays(bool, shape))
quick = settings(max_examples=60, deadline=None)


@pytest.mark.parametrize("case", ORACLE)
def test_scores_equal_the_oracles(case: str) -> None:
    name = case.split("-")[0]
    truth = read_ink(FIXTURES / f"{name}.png")
    got = score(read_ink(FIXTURES / f"{case}.png"), truth)
    for measure, wanted in ORACLE[case].items():
        # doxapy rounds the DRD's neighbourhood to six decimals.
        assert getattr(got, measure) == pytest.approx(wanted, rel=1e-5, abs=1e-6), measure


def test_stored_maps_give_the_same_scores() -> None:
    truth, found = read_ink(FIXTURES / "strokes.png"), read_ink(FIXTURES / "strokes-noisy.png")
    stored = read_weights(FIXTURES, "strokes", truth)
    assert score(found, truth, stored).pfm == pytest.approx(score(found, truth).pfm, abs=1e-4)


def test_maps_of_another_size_are_refused() -> None:
    truth = np.ones((4, 4), bool)
    maps = Weights(np.zeros((4, 5), np.float32), np.zeros((4, 5), np.float32))
    with pytest.raises(MetricError, match="weight maps"):
        score(truth, truth, maps)


@quick
@given(masks)
def test_a_perfect_prediction_is_perfect(truth: np.ndarray) -> None:
    got = score(truth, truth)
    assert (got.fm, got.pfm, got.psnr, got.drd, got.nrm) == (100, pytest.approx(100), math.inf, 0, 0)


@quick
@given(arrays(bool, (24, 32)), st.integers(0, 23), st.integers(0, 31), st.integers(0, 2**32))
def test_false_ink_far_from_ink_never_helps(found: np.ndarray, y: int, x: int, seed: int) -> None:
    truth = np.zeros((24, 32), bool)
    truth[4:9, 3 + seed % 7 : 14] = True
    assume(not found[y, x] and chessboard(truth)[y, x] > 5)
    worse = found.copy()
    worse[y, x] = True
    before, after = score(found, truth), score(worse, truth)
    assert after.fm <= before.fm
    assert after.pfm <= before.pfm + 1e-9
    assert after.psnr < before.psnr
    assert after.drd >= before.drd


@quick
@given(arrays(bool, (24, 32)), arrays(bool, (24, 32)))
def test_mirrored_pages_score_alike_where_the_definition_is_symmetric(
    found: np.ndarray, truth: np.ndarray
) -> None:
    # Not p-FM: thinning takes pixels away in an order. DRD only where whole blocks fill the page.
    names = ("fm", "psnr", "drd", "precision", "recall", "nrm")
    here = score(found, truth)
    for turn in (np.fliplr, np.flipud, np.transpose):
        there = score(turn(found), turn(truth))
        for name in names:
            assert getattr(there, name) == pytest.approx(getattr(here, name), rel=1e-12), name


@quick
@given(masks, st.randoms(use_true_random=False))
def test_no_score_is_ever_undefined(truth: np.ndarray, random: object) -> None:
    rng = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    for found in (np.zeros_like(truth), np.ones_like(truth), rng.random(truth.shape) < 0.3):
        got = score(found, truth)
        assert not any(math.isnan(getattr(got, name)) for name in NAMES)
        for name in ("fm", "pfm", "precision", "recall", "pseudo_precision", "pseudo_recall"):
            assert 0 <= getattr(got, name) <= 100 + 1e-9


def test_conventions_are_named_where_they_are_used() -> None:
    blank, full, speck = np.zeros((16, 16), bool), np.ones((16, 16), bool), np.zeros((16, 16), bool)
    speck[4:7, 4:7] = True
    assert score(speck, speck).notes == ()
    assert score(full, speck).notes == ()  # all black is a page like any other
    assert "no ink: FM, p-FM and recall are 100" in score(blank, blank).notes[0]
    missed = score(blank, speck)
    assert (missed.fm, missed.pfm, missed.precision) == (0, 0, 0)
    assert "prediction has no ink" in missed.notes[0]
    invented = score(speck, blank)
    assert (invented.fm, invented.pfm, invented.recall, invented.drd) == (0, 0, 0, math.inf)
    assert len(invented.notes) == 2


def test_the_mean_is_over_pages_and_says_what_is_infinite() -> None:
    def row(fm: float, psnr: float) -> Scores:
        return Scores(fm, fm, psnr, 1.0, fm, fm, fm, fm, 0.1)

    summary = summarize([row(90, 20.0), row(80, 10.0), row(100, math.inf)])
    assert summary.pages == 3
    assert summary.mean["fm"] == 90
    assert summary.mean["psnr"] == math.inf
    assert summary.infinite == {"psnr": 1}
    assert summary.finite_mean == {"psnr": 15}
    assert summarize([row(100, math.inf)]).finite_mean == {}
    with pytest.raises(MetricError, match="no page"):
        summarize([])
    with pytest.raises(MetricError, match="not a number on 1 of 2"):
        summarize([row(90, 20.0), row(90, math.nan)])


def test_every_measure_has_a_definition() -> None:
    assert set(DEFINITIONS) == set(NAMES)


def test_the_old_measure_asks_for_the_skeleton_only() -> None:
    truth = np.zeros((20, 40), bool)
    truth[6:13, 4:36] = True
    bones = thin(truth)
    assert skeleton_f_measure(bones, truth) == pytest.approx(100)  # nothing but the skeleton, and all of it
    assert score(bones, truth).recall < 20
    assert skeleton_f_measure(truth & ~bones, truth) == 0
    assert skeleton_f_measure(truth, truth) == pytest.approx(100)
