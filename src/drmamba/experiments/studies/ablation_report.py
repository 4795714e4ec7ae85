"""`drmamba ablate --report`: the tables, from the records of whatever runs are finished."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from drmamba.data.dibco import CONTEST_PAGES
from drmamba.experiments.paired import Interval, PairedDifference, paired_difference
from drmamba.experiments.paper_tables import COMPONENTS_AVERAGE, LABEL
from drmamba.experiments.report import CONTEST, HEADINGS, as_markdown, number, write_text
from drmamba.experiments.studies.ablation_claims import CLAIMS, verdict
from drmamba.experiments.studies.ablation_plot import plot_table
from drmamba.experiments.studies.ablation_records import (
    HELD_OUT,
    KEPT_OUT,
    RunRecord,
    page_scores,
    read_ablations,
)
from drmamba.experiments.studies.ablation_tables import Variant, references, tables
from drmamba.experiments.studies.run_series import incomplete
from drmamba.inference.explain.usage import WHOLE

SEEDS_WANTED = 3  # paired seeds below which a row counts as unfinished
EXTREMES = 3  # pages that are named as gaining or losing most


def write_report(folder: Path, output: Path, only: Sequence[str] = ()) -> str:
    """Write the report of all tables, or of some, and a plot of each beside it; return the Markdown."""
    report = AblationReport(read_ablations(folder))
    pictures = output.with_suffix("")  # a folder of the same name
    sections = []
    for table in only or list(report.tables):
        sections.append(report.section(table, f"{pictures.name}/{table}.png"))
        plot_table(pictures / f"{table}.png", table, report.plotted(table))
    parts = [report.introduction(), *([] if only else [report.claims()]), *sections, report.missing(only)]
    text = "\n\n".join(parts) + "\n"
    write_text(output, text)
    return text


class AblationReport:
    """The finished runs, and what can be said about them."""

    def __init__(self, records: Sequence[RunRecord]) -> None:
        self.records = records
        self.base = records[0].values["base"]
        self.encoder: str = self.base["model"]["encoder"]
        self.tables = tables(self.encoder)
        self.folds = sorted({record.held_out for record in records})
        self.kept = sorted({year for record in records for year in record.values["kept_out"]})
        self.seeds = sorted({record.seed for record in records})

    @property
    def sets(self) -> dict[str, str]:
        """The sets of pages that the runs were scored on, with words for them."""
        found = {HELD_OUT: f"{', '.join(self.folds)} held out"}
        return found | ({KEPT_OUT: f"{', '.join(self.kept)} kept out"} if self.kept else {})

    def introduction(self) -> str:
        """What was run, and how to read the tables."""
        start = self.base["source"]["init"]
        pages = {page["year"]: 0 for record in self.records for page in record.values["pages"][HELD_OUT]}
        for page in self.records[0].values["pages"][HELD_OUT]:
            pages[page["year"]] += 1
        short = incomplete((year, count) for year, count in pages.items() if count and year in CONTEST_PAGES)
        lines = [
            "# Ablations",
            f"Every row of the paper's five tables, trained by the preset `{self.base['preset']}`: "
            f"{self.records[0].values['updates']} updates, seeds {', '.join(map(str, self.seeds))}"
            + (f", from `{start}`" if start else "")
            + ". All rows see the same crops in the same order and start from the same tensors as far as they have "
            "the same. Pages are scored by the paper's protocol.",
            "A difference is that of FM, paired: the same seeds and the same pages. Its two intervals, at 95 % by "
            "Student's distribution, are over seeds (would other random numbers say the same?) and over pages (would "
            "other pages?). Wins and losses count pages, by the mean over seeds; in brackets those on which all seeds "
            "agree.",
            *short,
        ]
        return "\n\n".join(lines)

    def claims(self) -> str:
        """The paper's claims, and whether our intervals bear them out."""
        rows = []
        for claim in CLAIMS:
            found = [self.difference(claim.better, claim.worse, pages) for pages in self.sets]
            cells = [f"{_shown(d.seeds)}: {verdict(d)}" if d else verdict(d) for d in found]
            rows.append([claim.sentence, f"{claim.better} - {claim.worse}", *cells])
        header = ["claim of the paper", "difference of FM", *self.sets.values()]
        words = (
            "A claim holds here if both intervals lie above zero; the interval over seeds is shown. "
            "It cannot be told if one of them contains zero."
        )
        return f"## What holds at this scale\n\n{words}\n\n{as_markdown(header, rows)}"

    def section(self, table: str, picture: str) -> str:
        """One table: scores beside the paper's, differences, pages, and the use of each route."""
        parts = [f"## {table.capitalize()}", f"![Scores of the rows of {table}]({picture})"]
        for pages, words in self.sets.items():
            parts += [f"### {table.capitalize()}: {words}", self.scores(table, pages)]
            parts += [self.differences(table, pages)]
        usage = self.usage(table)
        return "\n\n".join([*parts, *([usage] if usage else [])])

    def scores(self, table: str, pages: str) -> str:
        """The mean scores of every row, beside the paper's if these are the paper's pages."""
        printed = pages == HELD_OUT
        header = ["row", "what it is", "seeds", *(HEADINGS[m] for m in CONTEST)]
        header += [f"paper {HEADINGS[m]}" for m in CONTEST] if printed else []
        rows = []
        for variant in self.tables[table]:
            seeds = page_scores(self.records, variant.run.name, pages, "fm")
            own = [number(self.mean(variant.run.name, pages, m)) for m in CONTEST]
            paper = [number(getattr(self.printed(table, variant), m, None)) for m in CONTEST]
            rows.append([variant.name, variant.run.title, str(len(seeds)), *own, *(paper if printed else [])])
        note = f"The paper's columns: {LABEL}."
        return as_markdown(header, rows) + (f"\n\n{note}" if printed else "")

    def printed(self, table: str, variant: Variant) -> object:
        """The paper's row for the folds that were run: those of 2019, or the means of all."""
        if len(self.folds) > 1 and table == "components":
            return next((row for row in COMPONENTS_AVERAGE if row.name == variant.name), None)
        return variant.paper

    def differences(self, table: str, pages: str) -> str:
        """Every row against the row above it and against the table's references."""
        rows = []
        above: Variant | None = None
        for variant in self.tables[table]:
            others = [above.run.name if above else None, *references(table, self.encoder)]
            for name, role in zip(
                dict.fromkeys(others), ("the row above", *("" for _ in others)), strict=False
            ):
                found = self.difference(variant.run.name, name, pages) if name else None
                if found and name != variant.run.name:
                    rows.append([variant.name, f"{name} ({role})" if role else str(name), *_cells(found)])
            above = variant
        if not rows:
            return "No two rows of this table are finished yet."
        header = ["row", "against", "difference", "95 % over seeds", "95 % over pages", "wins", "losses",
                  "pages that gain most", "pages that lose most"]  # fmt: skip
        return as_markdown(header, rows)

    def usage(self, table: str) -> str:
        """What changes when a part of the trained block is replaced, averaged over pages and seeds."""
        parts: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for variant in self.tables[table]:
            for record in self.records:
                if record.run != variant.run.name:
                    continue
                whole = {(e["year"], e["name"]): e["fm"] for e in record.usage if e["part"] == WHOLE}
                for entry in record.usage:
                    if entry["part"] != WHOLE:
                        change = entry["fm"] - whole[entry["year"], entry["name"]]
                        own = parts.setdefault(variant.name, {})
                        own.setdefault(entry["part"], []).append((change, entry["pixels"]))
        if not parts:
            return ""
        columns = list(dict.fromkeys(part for own in parts.values() for part in own))
        rows = [[name, *(_usage_cell(own.get(part, [])) for part in columns)] for name, own in parts.items()]
        years = sorted({entry["year"] for record in self.records for entry in record.usage})
        words = (
            f"The use of each route on {', '.join(years)}: the change of FM, and the percentage of pixels that "
            "change, when a part of the trained block is replaced."
        )
        return f"{words}\n\n{as_markdown(['row', *columns], rows)}"

    def missing(self, only: Sequence[str] = ()) -> str:
        """Which rows have fewer seeds than are wanted."""
        wanted = [*self.seeds, *(s for s in range(SEEDS_WANTED) if s not in self.seeds)]
        wanted = wanted[: max(len(self.seeds), SEEDS_WANTED)]
        lines = []
        for table in only or list(self.tables):
            for variant in self.tables[table]:
                done = {(r.held_out, r.seed) for r in self.records if r.run == variant.run.name}
                left = [s for s in wanted if any((year, s) not in done for year in self.folds)]
                if left:
                    needs = " (needs weights from the Hub)" if variant.run.optional else ""
                    lines.append(f"- {table}, {variant.name}: seeds {', '.join(map(str, left))}{needs}")
        return "## What is missing\n\n" + ("\n".join(lines) or "Nothing: every row has every seed.")

    def mean(self, run: str, pages: str, measure: str) -> float | None:
        """The mean over pages and seeds; infinite scores of perfect pages are left out."""
        seeds = page_scores(self.records, run, pages, measure).values()
        values = [value for by_page in seeds for value in by_page.values() if math.isfinite(value)]
        return float(np.mean(values)) if values else None

    def difference(self, one: str, other: str, pages: str) -> PairedDifference | None:
        """The paired difference of FM between two runs, if both are there."""
        first, second = (page_scores(self.records, run, pages, "fm") for run in (one, other))
        return paired_difference(first, second)

    def plotted(self, table: str) -> dict[str, dict[str, list[float]]]:
        """FM by set of pages and row: one value a seed; the paper's has one."""
        found = {
            words: {
                variant.name: [
                    float(np.mean(list(by_page.values())))
                    for by_page in page_scores(self.records, variant.run.name, pages, "fm").values()
                ]
                for variant in self.tables[table]
            }
            for pages, words in self.sets.items()
        }
        paper = {v.name: [float(getattr(self.printed(table, v), "fm", math.nan))] for v in self.tables[table]}
        return {**found, "the paper": paper}


def _cells(found: PairedDifference) -> list[str]:
    gaining, losing = (
        ", ".join(f"{year}/{name} {found.by_page[year, name]:+.1f}" for year, name in pages) or "-"
        for pages in found.extremes(EXTREMES)
    )
    wins = f"{found.wins} ({found.steady_wins})"
    losses = f"{found.losses} ({found.steady_losses})"
    means = [f"{found.seeds.mean:+.2f}", _range(found.seeds), _range(found.pages)]
    return [*means, wins, losses, gaining, losing]


def _range(found: Interval) -> str:
    if found.size < 2:
        return "one value only"
    return f"{found.low:+.2f} to {found.high:+.2f} (n = {found.size})"


def _shown(found: Interval) -> str:
    return f"{found.mean:+.2f}" + (f" ({found.low:+.2f} to {found.high:+.2f})" if found.size > 1 else "")


def _usage_cell(values: Sequence[tuple[float, float]]) -> str:
    if not values:
        return "-"
    change, pixels = np.mean(values, axis=0)
    return f"{change:+.2f} FM, {pixels:.2f} %"
