"""The report of `drmamba loo`: results.json, table.md and plot.png, written after every fold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from drmamba.experiments.paper_tables import LABEL, LEAVE_ONE_OUT
from drmamba.experiments.report import (
    CONTEST,
    HEADINGS,
    as_json,
    as_markdown,
    number,
    plot_years,
    stamp,
    write_text,
)
from drmamba.experiments.studies.run_series import incomplete

FoldScores = dict[str, Any]
CHOSEN = "‡"  # mark of a year that the recipe was chosen on
DEFAULT_KEY = "everyday"  # key of the default protocol's scores in results.json since the first version
STATED = (
    "mean",
    "pages",
    "minutes",
    "steps",
    "machine",
    DEFAULT_KEY,
    "classical",
)  # of each fold in results.json


def write_results(root: Path, done: dict[str, FoldScores], chosen_on: Sequence[str] = ()) -> str:
    """Write the three files from the records of the folds that are done; return the table."""
    first = next(iter(done.values()))
    preset, folds = str(first["config"]["preset"]), len(first["years"])
    facts = {
        **stamp(),
        "preset": preset,
        "config": first["config"],
        "classical": first["classical_library"],
        "chosen_on": list(chosen_on),
        "folds_done": len(done),
        "folds": folds,
    }
    measured = {year: {name: scores[name] for name in STATED} for year, scores in done.items()}
    averages = {"average": average(done), f"{DEFAULT_KEY}_average": average(done, DEFAULT_KEY)}
    write_text(root / "results.json", as_json({**facts, "years": measured, **averages}))
    text = table(done, preset, folds, chosen_on)
    write_text(root / "table.md", text)
    names = list(done)
    paper = {row.name: row for row in LEAVE_ONE_OUT}
    lines: dict[str, dict[str, list[float | None]]] = {
        measure: {
            f"drmamba {preset}": [float(done[year]["mean"][measure]) for year in names],
            f"drmamba {preset}, default protocol": [
                float(done[year][DEFAULT_KEY][measure]) for year in names
            ],
            f"DR-Mamba ({LABEL})": [getattr(paper.get(year), measure, None) for year in names],
        }
        for measure in CONTEST
    }
    plot_years(root / "plot.png", names, lines, title="Leave one year out")
    return text


def average(done: dict[str, FoldScores], protocol: str = "mean") -> dict[str, float]:
    """Return the mean over years as the paper takes it: every year counts once."""
    return {
        measure: sum(float(s[protocol][measure]) for s in done.values()) / len(done)
        for measure in CONTEST
        if done
    }


def table(done: dict[str, FoldScores], preset: str, folds: int, chosen_on: Sequence[str] = ()) -> str:
    """Return our scores beside the paper's as Markdown, with notes on what makes them differ."""
    paper = {row.name: row for row in LEAVE_ONE_OUT}
    header = [
        "held-out year",
        "pages",
        *(HEADINGS[m] for m in CONTEST),
        *(f"paper {HEADINGS[m]}" for m in CONTEST),
    ]
    rows = []
    for year, scores in done.items():
        ours = [number(float(scores["mean"][measure])) for measure in CONTEST]
        theirs = [number(getattr(paper.get(year), measure, None)) for measure in CONTEST]
        rows.append([_marked(year, chosen_on), str(len(scores["pages"])), *ours, *theirs])
    mean = average(done)
    # The paper averages all ten years, which would mislead beside an average of fewer.
    whole = paper.get("Average") if set(done) == set(paper) - {"Average"} else None
    pages = str(sum(len(scores["pages"]) for scores in done.values()))
    rows.append(
        [
            f"average of {len(done)}",
            pages,
            *(number(mean.get(m)) for m in CONTEST),
            *(number(getattr(whole, m, None)) for m in CONTEST),
        ]
    )
    untouched = {year: scores for year, scores in done.items() if year not in chosen_on}
    if 0 < len(untouched) < len(done):
        others = average(untouched)
        pages = str(sum(len(scores["pages"]) for scores in untouched.values()))
        without = [f"without {CHOSEN}: {len(untouched)}", pages, *(number(others[m]) for m in CONTEST)]
        rows.append([*without, *("-" for _ in CONTEST)])
    minutes = [float(scores["minutes"]) for scores in done.values()]
    number_of = f"{folds}" if len(done) == folds else f"{len(done)} of {folds}"
    notes = [
        f"Preset `{preset}`, {number_of} folds, {sum(minutes) / len(minutes):.1f} minutes of training each on average; "
        "official metrics, windows of 512 with stride 256.",
        "Default protocol: the same model as `drmamba binarize` runs it, with larger strides; the network sees a page "
        "at a fitting size, with its lines level, and with added noise if the page has none.",
        f"The paper's columns: {LABEL} (a 33.5 M network, 150 epochs on a GPU).",
        *([f"{CHOSEN} The recipe was chosen on these years."] if set(chosen_on) & set(done) else []),
        *incomplete((year, len(scores["pages"])) for year, scores in done.items()),
    ]
    parts = [
        as_markdown(header, rows),
        *comparison(done, preset, chosen_on),
        "\n".join(f"- {note}" for note in notes),
    ]
    return "\n\n".join(parts) + "\n"


def _marked(year: str, chosen_on: Sequence[str]) -> str:
    return f"{year} {CHOSEN}" if year in chosen_on else year


def comparison(done: dict[str, FoldScores], preset: str, chosen_on: Sequence[str] = ()) -> list[str]:
    """Return two tables: FM of both protocols and the classical methods by year, and averages of every measure."""
    first = next(iter(done.values()))
    methods = [
        name for name in first["classical"] if all(name in scores["classical"] for scores in done.values())
    ]
    library = first["classical_library"] if methods else None
    ours, default = f"drmamba `{preset}`", "default protocol"
    columns = {
        year: {ours: scores["mean"], default: scores[DEFAULT_KEY], **scores["classical"]}
        for year, scores in done.items()
    }
    methods = [default, *methods]
    years = [
        [_marked(year, chosen_on), *(number(float(means[name]["fm"])) for name in (ours, *methods))]
        for year, means in columns.items()
    ]
    averages = [
        [
            name,
            *(
                number(sum(float(means[name][m]) for means in columns.values()) / len(columns))
                for m in CONTEST
            ),
        ]
        for name in (ours, *methods)
    ]
    return [
        f"FM on the same pages ({library}):" if library else "FM on the same pages:",
        as_markdown(["held-out year", ours, *methods], years),
        f"Averages of the {len(done)} years:",
        as_markdown(["method", *(HEADINGS[m] for m in CONTEST)], averages),
    ]
