"""Is a data set what it should be? Every pair is opened, and whatever is wrong is named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from drmamba.data.dibco import Pair, match
from drmamba.data.layout import entries
from drmamba.errors import DataError, ImageError
from drmamba.images import read_ink, read_rgb


@dataclass(frozen=True)
class Findings:
    """Pairs per year, and what is wrong, each a sentence that names the file."""

    years: dict[str, int]
    problems: tuple[str, ...]


def check(root: Path | str) -> Findings:
    """Look at every pair below root: partner, size, ground truth in black and white, ink black."""
    root = Path(root)
    if not root.is_dir():
        raise DataError(f"{root} is not a folder; a data root holds <year>/img and <year>/gt")
    pairs, problems = match(entries(root))
    if not pairs and not problems:
        raise DataError(
            f"{root} holds no pairs; a data root holds <year>/img/<name> and <year>/gt/<name>.png"
        )
    with ThreadPoolExecutor(2) as threads:
        problems += [problem for found in threads.map(wrong_with, pairs) for problem in found]
    return Findings(dict(sorted(Counter(pair.year for pair in pairs).items())), tuple(problems))


def wrong_with(pair: Pair) -> Iterable[str]:
    """What is wrong with one pair, in words; nothing if all is well."""
    try:
        image = read_rgb(pair.image)
    except ImageError as error:
        return [str(error)]
    try:
        ink = read_ink(pair.truth)
    except ImageError as error:
        return [str(error)]
    if image.shape[:2] != ink.shape:
        sizes = " but ".join(f"{w} x {h}" for h, w in (image.shape[:2], ink.shape))
        return [f"{pair.truth}: the page is {sizes} pixels is its ground truth"]
    green, ink = image[::2, ::2, 1], ink[::2, ::2]  # a quarter of one channel is enough to tell
    if ink.all() or (ink.any() and green[ink].mean() > green[~ink].mean()):
        return [f"{pair.truth}: inverted, or of another page: the page is brighter where this says ink"]
    return []
