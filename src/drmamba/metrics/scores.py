"""All scores of a page in one call, their means over pages, and their definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from drmamba.errors import MetricError
from drmamba.metrics.counts import Counts, count, f_measure, nrm, precision, psnr, recall
from drmamba.metrics.drd import drd, mixed_blocks
from drmamba.metrics.pseudo import pseudo
from drmamba.metrics.skeleton import Mask
from drmamba.metrics.weights import Weights, weight_maps

VERSION = "1"  # version of the definitions below, which is raised whenever a score could change

DEFINITIONS = {
    "fm": "F-measure in percent, 200 P R / (P + R); ink is the positive class",
    "pfm": "pseudo-F-measure in percent: harmonic mean of R_ps and P_ps, weighted as in Ntirogiannis, Gatos and "
    "Pratikakis (IEEE TIP 2013), the contest's since 2013",
    "psnr": "10 log10(pixels / wrong pixels) in dB; inf for a perfect page",
    "drd": "distance reciprocal distortion (Lu, Kot and Shi 2004): 5 x 5 neighbourhoods, divided by the complete "
    "8 x 8 blocks of the ground truth that are not uniform",
    "precision": "percentage of the ink found that is ink",
    "recall": "percentage of the ink that was found",
    "pseudo_precision": "P_ps: precision in which pixel x weighs 1 + P_w(x)",
    "pseudo_recall": "R_ps: recall in which pixel x weighs R_w(x)",
    "nrm": "negative rate metric: mean of the rates of lost and of false ink, from 0 to 1",
}
MEANS = (
    "every mean is over pages, each counting once; an infinite value makes its mean infinite, and the mean of "
    "the finite ones is given beside it"
)


@dataclass(frozen=True)
class Scores:
    """The scores of one page; `notes` names every convention that replaced an undefined ratio."""

    fm: float
    pfm: float
    psnr: float
    drd: float
    precision: float
    recall: float
    pseudo_precision: float
    pseudo_recall: float
    nrm: float
    notes: tuple[str, ...] = ()


NAMES = tuple(field.name for field in fields(Scores) if field.name != "notes")


def score(prediction: Mask, truth: Mask, weights: Weights | None = None) -> Scores:
    """Score a page, True = ink, against its ground truth.

    weights: the weight maps of the ground truth, which are computed if they are not given.
    """
    counts = count(prediction, truth)
    weighted = pseudo(prediction, truth, weights or weight_maps(truth), counts)
    return Scores(
        fm=f_measure(counts),
        pfm=weighted.fm,
        psnr=psnr(counts),
        drd=drd(prediction, truth),
        precision=precision(counts),
        recall=recall(counts),
        pseudo_precision=weighted.precision,
        pseudo_recall=weighted.recall,
        nrm=nrm(counts),
        notes=_notes(counts, truth),
    )


def _notes(counts: Counts, truth: Mask) -> tuple[str, ...]:
    """The conventions that replaced undefined ratios."""
    notes = []
    if counts.tp + counts.fn == 0:
        value = "0 (there is false ink)" if counts.wrong else "100 (nothing is wrong)"
        notes.append(f"the ground truth has no ink: FM, p-FM and recall are {value}")
    elif counts.tp + counts.fp == 0:
        notes.append("the prediction has no ink: precision, FM and p-FM are 0")
    if counts.wrong and mixed_blocks(truth) == 0:
        notes.append(
            "the ground truth has no block with both ink and paper: DRD is inf unless nothing is distorted"
        )
    return tuple(notes)


@dataclass(frozen=True)
class Summary:
    """The mean scores over pages."""

    pages: int
    mean: dict[str, float]
    infinite: dict[str, int]  # measure -> pages with an infinite value, where there are any
    finite_mean: dict[str, float]  # the means of those measures over the other pages, if there are any


def summarize(rows: Sequence[Scores]) -> Summary:
    """The mean of every measure; MEANS says how an infinite value counts."""
    if not rows:
        raise MetricError("there is no page to take a mean of")
    table = {name: np.array([getattr(row, name) for row in rows], dtype=np.float64) for name in NAMES}
    for name, values in table.items():
        if np.isnan(values).any():
            raise MetricError(f"{name} is not a number on {np.isnan(values).sum()} of {len(rows)} pages")
    infinite = {name: int(np.isinf(v).sum()) for name, v in table.items() if np.isinf(v).any()}
    finite = {
        name: float(table[name][np.isfinite(table[name])].mean())
        for name in infinite
        if infinite[name] < len(rows)
    }
    mean = {name: math.inf if name in infinite else float(values.mean()) for name, values in table.items()}
    return Summary(pages=len(rows), mean=mean, infinite=infinite, finite_mean=finite)
