"""The runs that fill an ablation table, and the table's report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from drmamba.config import RunConfig, replace_values
from drmamba.experiments.paper_tables import ABLATIONS, COMPONENTS_AVERAGE, LABEL
from drmamba.experiments.report import (
    CONTEST,
    HEADINGS,
    as_json,
    as_markdown,
    machine,
    number,
    plot_years,
    settings,
    stamp,
    write_text,
)
from drmamba.experiments.studies.ablation_tables import Variant, as_set_options, variants
from drmamba.experiments.studies.leave_one_out_report import average
from drmamba.experiments.studies.run_series import RunLauncher, Say, TrainingJob, incomplete, run_series


def jobs(config: RunConfig, root: Path, rows: Sequence[Variant], years: Sequence[str]) -> list[TrainingJob]:
    """Return a job for every row and year; rows of different tables that are the same run share its folder."""
    found = []
    for variant in rows:
        for year in years:
            changed = replace_values(variant.apply(config), {"source": {"hold_out": year}})
            digest = hashlib.sha256(json.dumps(changed.to_dict(), sort_keys=True).encode()).hexdigest()[:10]
            found.append(
                TrainingJob(f"{variant.name} without {year}", changed, root / "runs" / f"{year}-{digest}")
            )
    return found


def ablate(
    config: RunConfig,
    root: Path,
    table: str,
    years: Sequence[str],
    launcher: RunLauncher,
    say: Say,
    only: Sequence[str] = (),
) -> Iterator[str]:
    """Run a table; after each run, write <table>.json, .md and .png and yield the Markdown so far."""
    rows = variants(table, only)
    todo = jobs(config, root, rows, years)
    by_folder: dict[Path, dict[str, Any]] = {}
    for job, scores in run_series(todo, launcher, say):
        by_folder[job.folder] = scores
        done = {}
        for k, variant in enumerate(rows):
            folders = [j.folder for j in todo[k * len(years) : (k + 1) * len(years)]]
            found = {year: by_folder[f] for year, f in zip(years, folders, strict=True) if f in by_folder}
            if len(found) == len(years):
                done[variant.name] = found
        yield write_table(root, config, table, rows, years, done)


def write_table(
    root: Path,
    config: RunConfig,
    table: str,
    rows: Sequence[Variant],
    years: Sequence[str],
    done: Mapping[str, dict[str, Any]],
) -> str:
    """Write our scores beside the paper's to three files; return the Markdown."""
    several = len(years) > 1 and table == "components"
    paper = {row.name: row for row in (COMPONENTS_AVERAGE if several else ABLATIONS[table])}
    means = {name: average(found) for name, found in done.items()}
    header = [
        "row",
        "what it is",
        *(HEADINGS[m] for m in CONTEST),
        *(f"paper {HEADINGS[m]}" for m in CONTEST),
    ]
    lines = [
        [
            variant.name,
            variant.title,
            *(number(means.get(variant.name, {}).get(m)) for m in CONTEST),
            *(number(getattr(paper.get(variant.name), m, None)) for m in CONTEST),
        ]
        for variant in rows
    ]
    notes = [
        f"Preset `{config.preset}`, held out: {', '.join(years)}; {len(done)} of {len(rows)} rows done.",
        f"The paper's columns: {LABEL}; means over {'ten folds' if several else 'the 2019 fold'}.",
    ]
    if done:
        first = next(iter(done.values()))
        notes += incomplete((year, len(scores["pages"])) for year, scores in first.items())
        minutes = [float(scores["minutes"]) for found in done.values() for scores in found.values()]
        notes.append(f"{sum(minutes) / len(minutes):.1f} minutes of training a run.")
    text = as_markdown(header, lines) + "\n\n" + "\n".join(f"- {note}" for note in notes) + "\n"
    write_text(root / f"{table}.md", text)
    facts = {**stamp(), "machine": machine(), "preset": config.preset, "table": table, "years": list(years)}
    measured = {
        variant.name: {
            "changes": as_set_options({"model": variant.model, "loss": variant.loss}),
            "mean": means[variant.name],
            "years": done[variant.name],
        }
        for variant in rows
        if variant.name in done
    }
    write_text(root / f"{table}.json", as_json({**facts, "config": settings(config), "rows": measured}))
    if done:
        names = [variant.name for variant in rows if variant.name in done]
        curves: dict[str, dict[str, list[float | None]]] = {
            m: {
                f"drmamba {config.preset}": [means[name][m] for name in names],
                f"DR-Mamba ({LABEL})": [getattr(paper.get(name), m, None) for name in names],
            }
            for m in CONTEST
        }
        plot_years(root / f"{table}.png", names, curves, title=f"Ablation: {table}")
    return text
