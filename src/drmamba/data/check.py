"""Checks of a data set: every pair is opened, and each problem is reported with its file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from drmamba.data.dibco import Pair, match
from drmamba.data.layout import entries
from drmamba.errors import DataError, ImageError
from drmamba.images import RGB, Ink, read_ink, read_rgb


@dataclass(frozen=True)
class Findings:
    """The number of pairs per year, and the problems, each a sentence that names the file."""

    years: dict[str, int]
    problems: tuple[str, ...]


def check(root: Path | str) -> Findings:
    """Check every pair below root: both files exist, their sizes agree, and ink is black in the ground truth."""
    root = Path(root)
    if not root.is_dir():
        raise DataError(f"{root} is not a folder; a data root holds <year>/img and <year>/gt")
    pairs, problems = match(entries(root))
    if not pairs and not problems:
        raise DataError(
            f"{root} holds no pairs; a data root holds <year>/img/<name> and <year>/gt/<name>.png"
        )
    with ThreadPoolExecutor(2) as threads:
        problems += [problem for found in threads.map(problems_with, pairs) for problem in found]
    return Findings(dict(sorted(Counter(pair.year for pair in pairs).items())), tuple(problems))


def problems_with(pair: Pair) -> Iterable[str]:
    """The problems of one pair, each a sentence."""
    try:
        image, ink = read_rgb(pair.image), read_ink(pair.truth)
    except ImageError as error:
        return [str(error)]
    return problems_between(pair, image, ink)


def problems_between(pair: Pair, image: RGB, ink: Ink) -> list[str]:
    """The problems of a pair whose files have been read."""
    if image.shape[:2] != ink.shape:
        page, truth = (f"{w} x {h} pixels" for h, w in (image.shape[:2], ink.shape))
        return [f"{pair.truth}: the ground truth has {truth}, but the page has {page}"]
    green, ink = image[::2, ::2, 1], ink[::2, ::2]  # a quarter of the pixels of one channel is enough
    if ink.all() or (ink.any() and green[ink].mean() > green[~ink].mean()):
        return [f"{pair.truth}: inverted or of another page, because the page is brighter where this has ink"]
    return []
