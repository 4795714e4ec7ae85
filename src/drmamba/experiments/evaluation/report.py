"""The report of `drmamba evaluate`: JSON, CSV, and a table to read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from drmamba.experiments.evaluation.pairing import Pairing
from drmamba.experiments.evaluation.scoring import CaseResult
from drmamba.experiments.report import CONTEST, HEADINGS, as_csv, as_json, as_text, number, stamp
from drmamba.metrics import DEFINITIONS, NAMES, VERSION, Scores, Summary, summarize

SHOWN = (*CONTEST, "precision", "recall")  # columns of the table for people
OLD = (
    "the contest's p-FM of 2008 to 2012, recall on the skeleton of the ground truth; not comparable with p-FM"
)


@dataclass(frozen=True)
class EvaluationReport:
    """Results in the order of their pages, and where the pages came from."""

    predictions: Path
    truths: Path
    pairing: Pairing
    results: list[CaseResult]

    @cached_property
    def scored(self) -> list[Scores]:
        """Return the scores of the pages that could be scored."""
        return [result.scores for result in self.results if result.scores]

    @cached_property
    def summary(self) -> Summary | None:
        """Return the means, or None if no page could be scored."""
        return summarize(self.scored) if self.scored else None

    @cached_property
    def skeleton_mean(self) -> float | None:
        """Return the mean of the p-FM of 2008 to 2012, or None if nobody asked for it."""
        values = [result.skeleton_fm for result in self.results if result.skeleton_fm is not None]
        return sum(values) / len(values) if values else None

    def json(self) -> str:
        """Return everything, with the definitions, as JSON."""
        means: dict[str, Any] = asdict(self.summary) if self.summary else {"pages": 0, "mean": {}}
        if self.skeleton_mean is not None:
            means["mean"]["skeleton_fm"] = self.skeleton_mean
        facts = {"predictions": self.predictions, "ground_truth": self.truths, "count": means.pop("pages")}
        pages = [_page(result) for result in self.results]
        alone = {"missing": self.pairing.missing, "extra": self.pairing.extra}
        stamped = stamp()
        if self.skeleton_mean is not None:
            stamped["definitions"] = {**DEFINITIONS, "skeleton_fm": OLD}
        return as_json({**stamped, **facts, **means, "pages": pages, **alone})

    def csv(self) -> str:
        """Return one line per page and the mean last; each states the version of the definitions."""
        old = self.skeleton_mean is not None
        header = ["page", *NAMES, *(["skeleton_fm"] if old else []), "metrics_version", "error"]
        rows: list[list[Any]] = []
        for result in self.results:
            values: list[Any] = [getattr(result.scores, name, "") for name in NAMES]
            values += [result.skeleton_fm] if old else []
            rows.append([result.case.name, *values, VERSION, result.error])
        if self.summary:
            mean = [self.summary.mean[name] for name in NAMES]
            rows.append(["mean", *mean, *([self.skeleton_mean] if old else []), VERSION, ""])
        return as_csv(header, rows)

    def table(self) -> str:
        """Return a table to read, its notes, and what the columns mean."""
        old = self.skeleton_mean is not None
        header = ["page", *(HEADINGS[name] for name in SHOWN), *([HEADINGS["skeleton_fm"]] if old else [])]
        rows = []
        for result in self.results:
            values = [number(getattr(result.scores, name, None)) for name in SHOWN]
            rows.append([result.case.name, *values, *([number(result.skeleton_fm)] if old else [])])
        if self.summary:
            mean = [number(self.summary.mean[name]) for name in SHOWN]
            rows.append(
                [f"mean of {self.summary.pages}", *mean, *([number(self.skeleton_mean)] if old else [])]
            )
        meanings = [f"{HEADINGS[name]}: {DEFINITIONS[name]}" for name in CONTEST]
        if old:
            meanings.append(f"{HEADINGS['skeleton_fm']}: {OLD}")
        table = as_text(header, rows, last=1 if self.summary else 0)
        notes = self._notes()
        return "\n".join(
            [table, *([""] if notes else []), *notes, "", f"metrics version {VERSION}", *meanings]
        )

    def _notes(self) -> list[str]:
        """Return the conventions that the numbers of the table rest on."""
        notes = [f"{r.case.name}: {note}" for r in self.results if r.scores for note in r.scores.notes]
        if self.summary:
            for name, count in self.summary.infinite.items():
                rest, others = self.summary.finite_mean.get(name), self.summary.pages - count
                also = f"; the mean of the other {others} is {number(rest)}" if rest is not None else ""
                where = f"{count} of {self.summary.pages} pages"
                notes.append(f"{HEADINGS[name]} is infinite on {where}, and so is its mean{also}")
        return notes


def _page(result: CaseResult) -> dict[str, Any]:
    page: dict[str, Any] = {
        "name": result.case.name,
        "prediction": result.case.prediction,
        "truth": result.case.truth,
    }
    if result.scores is None:
        return {**page, "error": result.error}
    old = {} if result.skeleton_fm is None else {"skeleton_fm": result.skeleton_fm}
    return {**page, **asdict(result.scores), **old}
