"""The report of `drmamba benchmark`: Markdown, JSON, and a plot of every method's scores by year."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drmamba.data.dibco import CONTEST_PAGES, Pair
from drmamba.data.dibco import years as years_of
from drmamba.experiments.benchmark.methods import Method
from drmamba.experiments.benchmark.run import Row
from drmamba.experiments.benchmark.standing import Standing
from drmamba.experiments.paper_tables import LABEL, OVERALL, YEAR_2019, PaperRow
from drmamba.experiments.report import (
    CONTEST,
    HEADINGS,
    as_json,
    as_markdown,
    as_text,
    machine,
    number,
    plot_years,
    stamp,
    write_text,
)
from drmamba.metrics import DEFINITIONS, MEANS, VERSION

SEEN = "†"  # mark of a year that a network was, or may have been, trained on
COSTS = (
    "s/MP: seconds per megapixel, from pixels in memory to ink in memory, after one untimed page. "
    "Peak MB: the most memory that the process of the method, Python and its libraries included, held while it "
    "read and binarized the pages."
)


class BenchmarkReport:
    """The standings of all methods, written when the run is over."""

    def __init__(
        self,
        root: Path,
        methods: Sequence[Method],
        pairs: Sequence[Pair],
        rows: Sequence[Row],
        problems: Sequence[str],
    ) -> None:
        self.root, self.pairs, self.problems = root, list(pairs), list(problems)
        self.years = years_of(pairs)
        self.standings = [Standing(m, [row for row in rows if row.method == m.name]) for m in methods]
        self.date = datetime.date.today().isoformat()

    @property
    def failed(self) -> list[Row]:
        """Return every row without scores."""
        return [row for standing in self.standings for row in standing.failed]

    def write(self, folder: Path, *, plot: bool = True) -> None:
        """Write report.md, report.json and, if `plot` is true, scores.png."""
        write_text(folder / "report.md", self.markdown(plot=plot))
        write_text(folder / "report.json", self.json())
        if plot:
            lines = {
                name: {
                    s.method.label: [self._year(s, year, name) for year in self.years] for s in self.standings
                }
                for name in CONTEST
            }
            plot_years(folder / "scores.png", self._labels(), lines, title=f"Scores by year, {self.date}")

    def text(self) -> str:
        """Return the main table for a terminal, followed by the remarks."""
        return "\n".join([as_text(_HEADER, self._pages_table()), "", *self._remarks()])

    def json(self) -> str:
        """Return everything, row by row, as JSON."""
        paper = {"label": LABEL, "overall": _plain_rows(OVERALL), "2019": _plain_rows(YEAR_2019)}
        return as_json(
            {
                **stamp(),
                "date": self.date,
                "machine": machine(),
                "data": self.root.name,
                "pages": {year: self._count(year) for year in self.years},
                "methods": [self._plain(standing) for standing in self.standings],
                "rows": [row.to_dict() for standing in self.standings for row in standing.rows],
                "paper": paper,
                "costs": COSTS,
                "remarks": self._remarks(),
            }
        )

    def markdown(self, *, plot: bool = True) -> str:
        """Return the report to read."""
        host = machine()
        parts = [
            "# Benchmark",
            f"{self.date}, drmamba {stamp()['drmamba']}, metrics version {VERSION}. {len(self.pairs)} pages of "
            f"{', '.join(self._labels())} in `{self.root.name}`. Measured on {host['cpu']}, {host['cores']} cores, "
            f"{host['system']}, Python {host['python']}.",
            "## Mean over pages",
            as_markdown(_HEADER, self._pages_table()),
            COSTS,
            f"## Mean over {len(self.years)} years, each counting once",
            *self._beside_the_papers(),
            "The paper's rows are means over ten years that its authors collected from other papers, each "
            "with training years and tools of its own; they are not results of this run.",
        ]
        for name in CONTEST:
            parts += [
                f"## {HEADINGS[name]} by year",
                as_markdown(["method", *self._labels()], self._by_year(name)),
            ]
        if "2019" in self.years:
            parts += [
                f"## {self._labels()[self.years.index('2019')]}, beside the paper's table of that year",
                as_markdown(
                    ["method", *(HEADINGS[n] for n in CONTEST), "origin"],
                    [
                        *(
                            [s.method.label, *(self._cell(s, "2019", n) for n in CONTEST), "this run"]
                            for s in self.standings
                        ),
                        *_reference(YEAR_2019),
                    ],
                ),
            ]
        if plot:
            parts += ["## Plot", "![scores by year](scores.png)"]
        parts += ["## Methods", "\n".join(f"- {s.method.name}: {s.method.note}" for s in self.standings)]
        parts += ["## Remarks", "\n".join(f"- {remark}" for remark in self._remarks())]
        parts += [
            "## Definitions",
            "\n".join(f"- {HEADINGS[n]}: {DEFINITIONS[n]}" for n in CONTEST),
            f"{MEANS}.",
        ]
        return "\n\n".join(parts) + "\n"

    def _pages_table(self) -> list[list[str]]:
        rows = []
        for s in self.standings:
            mean = s.over_pages.mean if s.over_pages else {}
            seen = SEEN if any(s.method.has_seen(year) for year in self.years) else ""
            rows.append(
                [
                    f"{s.method.label}{seen}",
                    s.pages,
                    *(number(mean.get(name)) for name in CONTEST),
                    number(s.speed, 3),
                    number(s.memory, 0),
                ]
            )
        return rows

    def _beside_the_papers(self) -> list[str]:
        """Return our means over years and the paper's, in one table only if both are over the same ten years."""
        header = ["method", *(HEADINGS[n] for n in CONTEST), "origin"]
        ours = [
            [s.method.label, *(number(s.over_years(name)) for name in CONTEST), "this run"]
            for s in self.standings
        ]
        theirs = _reference(OVERALL)
        if set(CONTEST_PAGES) <= set(self.years):
            return [as_markdown(header, ours + theirs)]
        return [as_markdown(header, ours), "For all ten years the paper prints:", as_markdown(header, theirs)]

    def _by_year(self, name: str) -> list[list[str]]:
        return [[s.method.label, *(self._cell(s, year, name) for year in self.years)] for s in self.standings]

    def _cell(self, standing: Standing, year: str, name: str) -> str:
        value = number(self._year(standing, year, name))
        return f"{value}{SEEN}" if standing.method.has_seen(year) else value

    @staticmethod
    def _year(standing: Standing, year: str, name: str) -> float | None:
        return standing.by_year[year].mean[name] if year in standing.by_year else None

    def _count(self, year: str) -> int:
        return sum(pair.year == year for pair in self.pairs)

    def _labels(self) -> list[str]:
        """Return the years, with their number of pages where the contest published more."""
        return [
            year
            if self._count(year) >= CONTEST_PAGES.get(year, 0)
            else f"{year} ({self._count(year)} of {CONTEST_PAGES[year]})"
            for year in self.years
        ]

    def _remarks(self) -> list[str]:
        """Return everything that a reader must know to judge the numbers."""
        remarks = [
            f"{year}: {self._count(year)} of the contest's {CONTEST_PAGES[year]} pages are here, so its figures "
            "are not comparable with published ones of that year"
            for year in self.years
            if self._count(year) < CONTEST_PAGES.get(year, 0)
        ]
        for s in self.standings:
            if s.method.kind == "network":
                remarks.append(f"{s.method.name}: {s.method.note}")
            seen = [year for year in self.years if s.method.has_seen(year)]
            if seen:
                may = "may have seen" if s.method.seen is None else "has seen"
                remarks.append(f"{SEEN} {s.method.name} {may} pages of {', '.join(seen)} in training")
            if s.failed:
                remarks.append(
                    f"{s.method.name}: {len(s.failed)} of {len(s.rows)} pages have no score; its means lack them"
                )
            infinite = s.over_pages.infinite if s.over_pages else {}
            for name, count in infinite.items():
                rest = s.over_pages.finite_mean.get(name) if s.over_pages else None
                also = "" if rest is None else f" (mean of the others: {number(rest)})"
                remarks.append(f"{s.method.name}: {HEADINGS[name]} is infinite on {count} pages{also}")
        libraries = {s.method.identity.get("library") for s in self.standings} - {None}
        remarks += [
            f"classical methods by {library}: other versions give other pixels"
            for library in sorted(map(str, libraries))
        ]
        remarks += [f"left out: {problem}" for problem in self.problems]
        remarks += [f"not scored: {row.method}, {row.year}/{row.page}: {row.error}" for row in self.failed]
        return remarks

    def _plain(self, s: Standing) -> dict[str, Any]:
        return {
            "name": s.method.name,
            "kind": s.method.kind,
            "note": s.method.note,
            "identity": s.method.identity,
            "trained_on": None if s.method.seen is None else sorted(s.method.seen),
            "scored": len(s.rows) - len(s.failed),
            "failed": len(s.failed),
            "mean": s.over_pages.mean if s.over_pages else None,
            "infinite": s.over_pages.infinite if s.over_pages else {},
            "finite_mean": s.over_pages.finite_mean if s.over_pages else {},
            "mean_over_years": {name: s.over_years(name) for name in CONTEST},
            "years": {year: summary.mean for year, summary in s.by_year.items()},
            "seconds_per_megapixel": s.speed,
            "peak_memory_mb": s.memory,
        }


_HEADER = ["method", "pages", *(HEADINGS[name] for name in CONTEST), "s/MP", "peak MB"]


def _reference(rows: Sequence[PaperRow]) -> list[list[str]]:
    return [[row.name, *(number(getattr(row, name)) for name in CONTEST), LABEL] for row in rows]


def _plain_rows(rows: Sequence[PaperRow]) -> list[dict[str, Any]]:
    return [row._asdict() for row in rows]
