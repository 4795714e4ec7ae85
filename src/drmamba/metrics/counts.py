"""The confusion counts of a page against its ground truth, and every measure that follows from them alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from drmamba.errors import MetricError
from drmamba.metrics.skeleton import Mask


@dataclass(frozen=True)
class Counts:
    """The numbers of true and false positives and negatives; ink is positive."""

    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def total(self) -> int:
        """All pixels of the page."""
        return self.tp + self.fp + self.fn + self.tn

    @property
    def wrong(self) -> int:
        """Pixels that differ from the ground truth."""
        return self.fp + self.fn


def check_pages(prediction: Mask, truth: Mask) -> None:
    """Raise unless both are boolean pages of the same size."""
    for name, page in (("prediction", prediction), ("ground truth", truth)):
        if not isinstance(page, np.ndarray) or page.dtype != np.bool_:
            kind = getattr(page, "dtype", type(page).__name__)
            raise MetricError(
                f"the {name} is {kind}, not a boolean array (True is ink); read a file with images.read_ink, "
                "or threshold a grey page first"
            )
        if page.ndim != 2 or page.size == 0:
            raise MetricError(
                f"the {name} has the shape {page.shape}; a page is (height, width), both above 0"
            )
    if prediction.shape != truth.shape:
        found, wanted = (f"{page.shape[1]} x {page.shape[0]}" for page in (prediction, truth))
        raise MetricError(
            f"the prediction has {found} pixels and the ground truth {wanted}; sizes must agree"
        )


def count(prediction: Mask, truth: Mask) -> Counts:
    """Count the pixels once; the measures below are functions of the result."""
    check_pages(prediction, truth)
    tp, found, ink = (int(np.count_nonzero(page)) for page in (prediction & truth, prediction, truth))
    return Counts(tp=tp, fp=found - tp, fn=ink - tp, tn=truth.size - found - ink + tp)


def share(part: float, whole: float, counts: Counts) -> float:
    """The percentage of a part in the whole.

    If the whole is 0, a page without an error gets 100 and any other 0.
    """
    if whole > 0:
        return 100 * part / whole
    return 0.0 if counts.wrong else 100.0


def precision(counts: Counts) -> float:
    """The percentage of the predicted ink that is ink."""
    return share(counts.tp, counts.tp + counts.fp, counts)


def recall(counts: Counts) -> float:
    """The percentage of the ink that was found."""
    return share(counts.tp, counts.tp + counts.fn, counts)


def f_measure(counts: Counts) -> float:
    """FM, the harmonic mean of precision and recall, in percent."""
    return share(2 * counts.tp, 2 * counts.tp + counts.wrong, counts)


def psnr(counts: Counts) -> float:
    """PSNR in dB for images in {0, 1}; inf for a perfect page."""
    return 10 * math.log10(counts.total / counts.wrong) if counts.wrong else math.inf


def nrm(counts: Counts) -> float:
    """Negative rate metric: the mean of the rates of lost ink and of false ink, from 0 to 1.

    The rate over an empty set of pixels is 0.
    """
    lost = counts.fn / max(counts.fn + counts.tp, 1)
    false = counts.fp / max(counts.fp + counts.tn, 1)
    return (lost + false) / 2
