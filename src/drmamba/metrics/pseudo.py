"""p-FM: the contest's, by weight maps (since 2013), and the older one on the skeleton, under its own name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from drmamba.errors import MetricError
from drmamba.metrics.counts import Counts, count, precision, share
from drmamba.metrics.skeleton import Mask, thin
from drmamba.metrics.weights import Weights


class Pseudo(NamedTuple):
    """Pseudo-recall, pseudo-precision and their harmonic mean, in percent."""

    recall: float
    precision: float
    fm: float


def pseudo(prediction: Mask, truth: Mask, weights: Weights, counts: Counts | None = None) -> Pseudo:
    """R_ps, P_ps and p-FM of Ntirogiannis, Gatos and Pratikakis (IEEE TIP 2013), as the contest computes them."""
    counts = counts or count(prediction, truth)
    if weights.recall.shape != truth.shape or weights.precision.shape != truth.shape:
        raise MetricError(f"the weight maps are {weights.recall.shape}, the ground truth {truth.shape}")
    both = prediction & truth
    recall = share(_total(weights.recall, both), _total(weights.recall, truth), counts)
    # 1 + P_w: the maps hold P_w alone, so the ones are the counts.
    hit = counts.tp + _total(weights.precision, both)
    found = counts.tp + counts.fp + _total(weights.precision, prediction)
    exact = share(hit, found, counts)
    return Pseudo(recall, exact, _harmonic(recall, exact))


def skeleton_f_measure(prediction: Mask, truth: Mask) -> float:
    """The p-FM of 2008 to 2012: recall on the skeleton of the ground truth, ordinary precision.

    Its values are not those of p-FM; the contest dropped it in 2013.
    """
    counts = count(prediction, truth)
    skeleton = thin(np.ascontiguousarray(truth))
    kept, bones = int(np.count_nonzero(skeleton & prediction)), int(np.count_nonzero(skeleton))
    return _harmonic(share(kept, bones, counts), precision(counts))


def _total(weights: np.ndarray[tuple[int, ...], np.dtype[np.float32]], where: Mask) -> float:
    return float(weights[where].sum(dtype=np.float64))


def _harmonic(recall: float, exact: float) -> float:
    return 2 * recall * exact / (recall + exact) if recall + exact > 0 else 0.0
