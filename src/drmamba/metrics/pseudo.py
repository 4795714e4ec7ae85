"""p-FM with the contest's weight maps (since 2013), and the older skeleton measure under its own name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from drmamba.compilation import compiled
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
    kept, ink, hit, found = _sums(prediction, truth, weights.recall, weights.precision)
    recall = share(kept, ink, counts)
    # The weights are 1 + P_w; the maps hold P_w alone, so the counts contribute the ones.
    exact = share(counts.tp + hit, counts.tp + counts.fp + found, counts)
    return Pseudo(recall, exact, _harmonic(recall, exact))


def skeleton_f_measure(prediction: Mask, truth: Mask) -> float:
    """The p-FM of 2008 to 2012: recall on the skeleton of the ground truth, ordinary precision.

    Its values differ from those of p-FM; the contest dropped it in 2013.
    """
    counts = count(prediction, truth)
    skeleton = thin(np.ascontiguousarray(truth))
    kept, bones = int(np.count_nonzero(skeleton & prediction)), int(np.count_nonzero(skeleton))
    return _harmonic(share(kept, bones, counts), precision(counts))


@compiled(nogil=True)
def _sums(prediction: Any, truth: Any, recall: Any, exact: Any) -> Any:
    """The sums of R_w over the ink found and over all ink, and of P_w over the ink found and over all predicted ink."""
    kept, ink, hit, found = 0.0, 0.0, 0.0, 0.0
    for y in range(truth.shape[0]):
        for x in range(truth.shape[1]):
            if truth[y, x]:
                ink += recall[y, x]
                if prediction[y, x]:
                    kept += recall[y, x]
                    hit += exact[y, x]
            if prediction[y, x]:
                found += exact[y, x]
    return kept, ink, hit, found


def _harmonic(recall: float, exact: float) -> float:
    return 2 * recall * exact / (recall + exact) if recall + exact > 0 else 0.0
