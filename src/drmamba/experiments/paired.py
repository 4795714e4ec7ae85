"""Paired differences between two networks: the same seeds, the same pages, and an interval beside every mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

LEVEL = 0.95  # probability that an interval covers the true mean, if the differences are normally distributed
Page = tuple[str, str]  # year and name
PageScores = Mapping[Page, float]  # one measure by page
SeedScores = Mapping[int, PageScores]  # the same by seed


class Interval(NamedTuple):
    """A mean and its interval, which is infinite if there is only one value."""

    mean: float
    low: float
    high: float
    size: int

    @property
    def sign(self) -> int:
        """1 or -1 if the whole interval is above or below zero, otherwise 0."""
        return int(self.low > 0) - int(self.high < 0)


def interval(values: Sequence[float]) -> Interval:
    """The mean with Student's interval."""
    count = len(values)
    if count == 0:
        return Interval(math.nan, -math.inf, math.inf, 0)
    mean = float(np.mean(values))
    if count == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    half = float(stats.t.ppf((1 + LEVEL) / 2, count - 1) * np.std(values, ddof=1) / math.sqrt(count))
    return Interval(mean, mean - half, mean + half, count)


@dataclass(frozen=True)
class PairedDifference:
    """How much better one network is than another, on the pages and seeds that both have."""

    seeds: Interval  # over seeds, of the differences of the pages' means
    pages: Interval  # over pages, of the differences of the seeds' means
    by_page: Mapping[Page, float]
    steady_wins: int  # pages on which the first is better by every seed
    steady_losses: int

    @property
    def wins(self) -> int:
        """The number of pages on which the first network is better on average."""
        return sum(value > 0 for value in self.by_page.values())

    @property
    def losses(self) -> int:
        """The number of pages on which the second network is better on average."""
        return sum(value < 0 for value in self.by_page.values())

    @property
    def sign(self) -> int:
        """1 or -1 if both intervals have that sign, otherwise 0, because the difference may be due to chance."""
        return self.seeds.sign if self.seeds.sign == self.pages.sign else 0

    def extremes(self, count: int) -> tuple[list[Page], list[Page]]:
        """The pages that gain most and lose most, at most `count` each."""
        ordered = sorted(self.by_page, key=lambda page: self.by_page[page])
        losing = [page for page in ordered[:count] if self.by_page[page] < 0]
        return [page for page in ordered[::-1][:count] if self.by_page[page] > 0], losing


def paired_difference(one: SeedScores, other: SeedScores) -> PairedDifference | None:
    """Compare two networks; None if they share no seed or no page."""
    seeds = sorted(one.keys() & other.keys())
    pages = sorted(set.intersection(*({*one[s]} & {*other[s]} for s in seeds))) if seeds else []
    if not pages:
        return None
    table = np.array([[one[s][page] - other[s][page] for page in pages] for s in seeds])  # (seeds, pages)
    return PairedDifference(
        interval(table.mean(1).tolist()),
        interval(table.mean(0).tolist()),
        dict(zip(pages, table.mean(0).tolist(), strict=True)),
        int((table > 0).all(0).sum()),
        int((table < 0).all(0).sum()),
    )
