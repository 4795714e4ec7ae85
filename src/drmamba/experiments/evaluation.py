"""Scores of predictions on disk: which file belongs to which ground truth, and what each is worth."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePath

from drmamba.data.layout import classify, natural
from drmamba.errors import DataError, DRMambaError, MetricError
from drmamba.experiments.baselines import grey
from drmamba.images import Ink, read_ink, read_rgb
from drmamba.metrics import Scores, score, skeleton_f_measure, stored_weights


@dataclass(frozen=True)
class Case:
    """A prediction and the ground truth it is scored against."""

    name: str
    prediction: Path
    truth: Path


@dataclass(frozen=True)
class Pairing:
    """What belongs together, and what stands alone."""

    cases: list[Case]
    missing: list[Path]  # ground truths without a prediction
    extra: list[Path]  # predictions without a ground truth


@dataclass(frozen=True)
class Result:
    """A case's scores, or why it has none."""

    case: Case
    scores: Scores | None = None
    skeleton_fm: float | None = None
    error: str = ""


def pair(predictions: Path, truths: Path) -> Pairing:
    """Match two files, or two folders by the names of their files without the ending.

    Endings that only say what a file is are set aside: `H01_GT.bmp` is the truth of `H01.png` or `H01.bin.png`.
    """
    for path in (predictions, truths):
        if not path.exists():
            raise DataError(f"{path} does not exist")
    if predictions.is_file() and truths.is_file():
        return Pairing([Case(predictions.stem, predictions, truths)], [], [])
    if predictions.is_file() or truths.is_file():
        raise DataError(f"give two files or two folders: {predictions} and {truths} are one of each")
    wanted = _by_name(truths, {})
    found = _by_name(predictions, wanted)
    cases = [Case(name, found[name], wanted[name]) for name in wanted if name in found]
    if not cases:
        raise DataError(f"no picture in {predictions} has the name of one in {truths}; names must agree")
    return Pairing(
        cases,
        missing=[path for name, path in wanted.items() if name not in found],
        extra=[path for name, path in found.items() if name not in wanted],
    )


def _by_name(folder: Path, known: dict[str, Path]) -> dict[str, Path]:
    """The pictures of a folder by name, in natural order; a name that is known is kept as it stands."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir(), key=lambda p: natural(p.name)):
        sort = classify(PurePath(path.name))
        if sort is None or not path.is_file():
            continue
        names = (path.stem, path.stem.removesuffix(".bin"), sort[1])
        name = next((n for n in names if n in known), names[1] if known else names[2])
        if name in found:
            raise DataError(f"{found[name]} and {path} have the same name; keep one of them")
        found[name] = path
    if not found:
        below = " (there are folders in it: a folder of years is for `drmamba benchmark`)"
        nested = any(child.is_dir() for child in folder.iterdir())
        raise DataError(f"{folder} holds no pictures{below if nested else ''}")
    return found


def read_page(path: Path, threshold: int | None = None) -> Ink:
    """A black-and-white page; a grey one too, if a threshold says which grey is still ink."""
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
) -> Iterator[Result]:
    """Score the cases, in their order. One that cannot be scored comes back with the reason.

    weights: a folder of weight maps, read if they are there and stored if not. workers 0: one a core.
    """

    def one(case: Case) -> Result:
        try:
            prediction, truth = read_page(case.prediction, threshold), read_page(case.truth, threshold)
            if prediction.shape != truth.shape:
                raise MetricError(
                    f"{case.prediction} is {_size(prediction)} pixels, {case.truth} {_size(truth)}; sizes must agree"
                )
            maps = stored_weights(weights, case.name, truth) if weights else None
            old = skeleton_f_measure(prediction, truth) if skeleton else None
            return Result(case, score(prediction, truth, maps), old)
        except (DRMambaError, OSError, MemoryError) as error:
            return Result(case, error=str(error) or type(error).__name__)

    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        yield from pool.map(one, cases)


def _size(page: Ink) -> str:
    return f"{page.shape[1]} x {page.shape[0]}"
