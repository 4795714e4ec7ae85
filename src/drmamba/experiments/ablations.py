"""The paper's five ablation tables as changes to a config, and the runs that fill them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drmamba.config import RunConfig, replace_values
from drmamba.errors import ConfigError
from drmamba.experiments.loo import average
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
from drmamba.experiments.series import Engine, Job, Say, incomplete, run_series

PAPER_YEAR = "2019"  # the fold of the paper's detailed ablations

# The paper's baseline is "supervised only by binary cross-entropy"; the auxiliary head, itself under BCE, stays.
BCE_ONLY = {"sdf": 0.0, "bce": 1.0, "tv": 0.0, "pfm": 0.0, "cldice": 0.0, "bnd": 0.0}
NO_DETAIL = {"enabled": False}


@dataclass(frozen=True)
class Variant:
    """One row: its name in the paper's table, what it is, and the settings that make it."""

    name: str
    title: str
    model: Mapping[str, Any] = field(default_factory=dict)
    loss: Mapping[str, Any] = field(default_factory=dict)
    fresh: bool = False  # its encoder is another: weights made for the preset's do not fit

    def apply(self, config: RunConfig) -> RunConfig:
        """The config with this row's changes; every name and value is checked."""
        source = {"init": None, "encoder_weights": None} if self.fresh else {}
        return replace_values(config, {"model": self.model, "loss": self.loss, "source": source})


def _block(fusion: str = "subtract", **settings: Any) -> dict[str, Any]:
    """The dual-route block without what the fusion table leaves out."""
    return {"block": {"fusion": fusion, **settings}, "detail": NO_DETAIL}


TABLES: dict[str, tuple[Variant, ...]] = {
    "components": (
        Variant(
            "A0", "single route, BCE only", {"block": {"routes": "single"}, "detail": NO_DETAIL}, BCE_ONLY
        ),
        Variant("A1", "+ dual route (concatenation)", _block("concat"), BCE_ONLY),
        Variant("A2", "+ adaptive suppression (D - beta B)", _block(), BCE_ONLY),
        Variant("A3", "+ detail-guided reconstruction", {}, BCE_ONLY),
        Variant("A4", "+ thin-stroke-aware loss (all of it)"),
    ),
    # Two of its rows are A1 and A2 of the components, so the others too are without detail branch, under BCE.
    "fusion": (
        Variant("add", "D + B", _block("add"), BCE_ONLY),
        Variant("concat", "[D, B]", _block("concat"), BCE_ONLY),
        Variant("subtract, beta fixed", "D - beta B, beta = 0.5", _block(beta="fixed"), BCE_ONLY),
        Variant("subtract, beta input-dependent", "D - beta B, beta from the input", _block(), BCE_ONLY),
        Variant("subtract, shared decay", "D - beta B, A_D = A_B", _block(decay="shared"), BCE_ONLY),
    ),
    "directions": (
        Variant("1", "left to right", {"block": {"directions": 1}}),
        Variant("4", "both ways along rows and columns", {"block": {"directions": 4}}),
        Variant("8", "and along both diagonals", {"block": {"directions": 8}}),
    ),
    "loss": (
        Variant("BCE", "BCE only", {}, BCE_ONLY),
        Variant("+ boundary and balance", "BCE, SDF, boundary, Tversky", {}, {"pfm": 0.0, "cldice": 0.0}),
        Variant("+ thin-stroke connectivity", "all six terms"),
    ),
    "backbone": (
        Variant("VMamba", "VMamba encoder, without ImageNet weights", {"encoder": "vmamba_tiny"}, fresh=True),
        Variant("ConvNeXt-Tiny", "the preset's own encoder"),
    ),
}


def variants(table: str, only: Sequence[str] = ()) -> tuple[Variant, ...]:
    """The rows of a table, or some of them."""
    if table not in TABLES:
        raise ConfigError(f"there is no ablation table {table!r}; there are {', '.join(TABLES)}")
    names = [variant.name for variant in TABLES[table]]
    for name in only:
        if name not in names:
            raise ConfigError(f"the table {table} has no row {name!r}; it has {', '.join(names)}")
    return tuple(variant for variant in TABLES[table] if not only or variant.name in only)


def listing() -> str:
    """Every table and row for people: what it is, what it sets, and the paper's FM."""
    lines = []
    for table, rows in TABLES.items():
        lines.append(f"{table}")
        for variant, paper in zip(rows, ABLATIONS[table], strict=True):
            changes = _flat({"model": variant.model, "loss": variant.loss}) or [
                "nothing: the preset as it is"
            ]
            lines.append(f"  {variant.name:<31} {variant.title:<40} paper FM {paper.fm:.2f}")
            lines.append(f"  {'':<31} {', '.join(changes)}")
    return "\n".join(lines)


def jobs(config: RunConfig, root: Path, rows: Sequence[Variant], years: Sequence[str]) -> list[Job]:
    """A job for every row and year. Rows of different tables that are the same run share its folder."""
    found = []
    for variant in rows:
        for year in years:
            changed = replace_values(variant.apply(config), {"source": {"hold_out": year}})
            digest = hashlib.sha256(json.dumps(changed.to_dict(), sort_keys=True).encode()).hexdigest()[:10]
            found.append(Job(f"{variant.name} without {year}", changed, root / "runs" / f"{year}-{digest}"))
    return found


def ablate(
    config: RunConfig,
    root: Path,
    table: str,
    years: Sequence[str],
    engine: Engine,
    say: Say,
    only: Sequence[str] = (),
) -> Iterator[str]:
    """Run a table; after each run, write <table>.json, .md and .png and give the Markdown so far."""
    rows = variants(table, only)
    todo = jobs(config, root, rows, years)
    by_folder: dict[Path, dict[str, Any]] = {}
    for job, scores in run_series(todo, engine, say):
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
    """Ours beside the paper's in three files; returns the Markdown."""
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
            "changes": _flat({"model": variant.model, "loss": variant.loss}),
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


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Nested changes as `--set` would take them."""
    flat = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat += _flat(value, f"{prefix}{name}.")
        else:
            flat.append(f"{prefix}{name}={json.dumps(value).strip(chr(34))}")
    return flat
