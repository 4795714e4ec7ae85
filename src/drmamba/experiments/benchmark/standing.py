"""What one method reached in a benchmark: mean scores, time and memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from drmamba.experiments.benchmark.methods import Method
from drmamba.experiments.benchmark.run import Row
from drmamba.metrics import Summary, summarize


@dataclass(frozen=True)
class Standing:
    """One method's results, averaged over pages and over years, where each year counts once."""

    method: Method
    rows: list[Row]

    @cached_property
    def by_year(self) -> dict[str, Summary]:
        """Return the means of each year that has a scored page."""
        grouped: dict[str, list[Any]] = {}
        for row in self.rows:
            if row.scores:
                grouped.setdefault(row.year, []).append(row.scores)
        return {year: summarize(scores) for year, scores in grouped.items()}

    @cached_property
    def over_pages(self) -> Summary | None:
        """Return the means over all scored pages."""
        scores = [row.scores for row in self.rows if row.scores]
        return summarize(scores) if scores else None

    def over_years(self, name: str) -> float | None:
        """Return the mean of the years' means; None unless every year has one."""
        wanted = {row.year for row in self.rows}
        if not wanted or wanted != set(self.by_year):
            return None
        return math.fsum(self.by_year[year].mean[name] for year in wanted) / len(wanted)

    @property
    def failed(self) -> list[Row]:
        """Return the rows without scores."""
        return [row for row in self.rows if not row.scores]

    @property
    def speed(self) -> float | None:
        """Return the seconds per megapixel."""
        pixels = sum(row.pixels or 0 for row in self.rows)
        return sum(row.seconds or 0 for row in self.rows) / pixels * 1e6 if pixels else None

    @property
    def memory(self) -> float | None:
        """Return the peak memory in megabytes."""
        most = max((row.memory or 0 for row in self.rows), default=0)
        return most / 1e6 if most else None

    @property
    def pages(self) -> str:
        """Return the number of scored pages, and of all pages if some were not scored."""
        scored = len(self.rows) - len(self.failed)
        return f"{scored}" if not self.failed else f"{scored} of {len(self.rows)}"
