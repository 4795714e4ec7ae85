"""The scores of predictions on disk, page by page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from drmamba.errors import DRMambaError, MetricError
from drmamba.experiments.baselines import grey
from drmamba.experiments.evaluation.pairing import Case
from drmamba.images import Ink, read_ink, read_rgb
from drmamba.metrics import Scores, score, skeleton_f_measure, stored_weights


@dataclass(frozen=True)
class CaseResult:
    """A case's scores, or the reason why it has none."""

    case: Case
    scores: Scores | None = None
    skeleton_fm: float | None = None
    error: str = ""


def read_page(path: Path, threshold: int | None = None) -> Ink:
    """Read a black-and-white page, or a grey one if a threshold (of 255) says which levels are ink."""
    if threshold is None:
        return read_ink(path)
    ink: Ink = grey(read_rgb(path)) < threshold
    return ink


def evaluate(
    cases: Iterable[Case],
    *,
    threshold: int | None = None,
    weights: Path | None = None,
    skeleton: bool = False,
    workers: int = 0,
) -> Iterator[CaseResult]:
    """Score the cases in their order; one that cannot be scored comes with the reason.

    weights: a folder of weight maps; missing maps are computed and stored there.
    workers: the number of pages scored at the same time; 0 stands for one per core.
    """

    def one(case: Case) -> CaseResult:
        try:
            prediction, truth = read_page(case.prediction, threshold), read_page(case.truth, threshold)
            if prediction.shape != truth.shape:
                raise MetricError(
                    f"{case.prediction} is {_size(prediction)} pixels, {case.truth} {_size(truth)}; sizes must agree"
                )
            maps = stored_weights(weights, case.name, truth) if weights else None
            old = skeleton_f_measure(prediction, truth) if skeleton else None
            return CaseResult(case, score(prediction, truth, maps), old)
        except (DRMambaError, OSError, MemoryError) as error:
            return CaseResult(case, error=str(error) or type(error).__name__)

    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        yield from pool.map(one, cases)


def _size(page: Ink) -> str:
    return f"{page.shape[1]} x {page.shape[0]}"
