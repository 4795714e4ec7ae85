"""Compare runs by the years that they kept out: the tables of "Choosing the recipe" in docs/experiments.md.

    drmamba train --data ROOT --hold-out none --validate-on 2012,2016,2018 ... -o RUN
    python benchmarks/kept_out_years.py --data ROOT [--context] RUN [RUN ...]

Each row is a run: the settings in which it differs from the first run, and its scores, each the mean of the means of
the kept-out years. Pages are binarized in windows of 512 with a stride of 448, by windows alone unless --context shows
the network the whole page. The scores of every page are written to RUN/kept_out_years.json, or with --context to
RUN/kept_out_years_context.json; --save also writes the binarized pages. --both-protocols scores them as the folds of
leave-one-year-out, by the paper's protocol, whose stride is 256, and by the default one, so that a model card can state
both (`drmamba export --folds RUN/kept_out_years.json`).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from drmamba import checkpoint
from drmamba.config import replace_values
from drmamba.data.dibco import Pair, find_pairs
from drmamba.experiments.report import as_json, settings, write_text
from drmamba.experiments.studies.default_means import STORED, default_means
from drmamba.experiments.studies.leave_one_out_report import DEFAULT_KEY, average
from drmamba.training.run_data import evaluation_pages
from drmamba.training.run_directory import RunDirectory
from drmamba.training.scoring import FINAL_CONFIG, VALIDATION_CONFIG, final_scores

MEASURES = {
    "fm": "FM",
    "pfm": "p-FM",
    "psnr": "PSNR",
    "drd": "DRD",
    "precision": "precision",
    "recall": "recall",
}
Means = dict[str, dict[str, float]]  # by year, by measure


def measured(folder: RunDirectory, data: Path, *, context: bool, save: bool, both: bool) -> Means:
    """Return the mean scores of each year that the run kept out, and write those of every page."""
    network, _ = checkpoint.load(folder.model)
    network.eval()
    name = "kept_out_years_context" if context else "kept_out_years"
    config = replace_values(FINAL_CONFIG if both else VALIDATION_CONFIG, {"context": context})
    run, ended = folder.config(), json.loads(folder.scores.read_text())
    years: dict[str, dict[str, Any]] = {}
    for year in run.data.validate_on:
        pairs: list[Pair] = [pair for pair in find_pairs(data) if pair.year == year]
        saved = folder.root / name / year if save else None
        years[year] = {
            **final_scores(network, evaluation_pages(pairs), saved, config=config),
            "minutes": ended["minutes"],
            "steps": ended["steps"],
        }
        if both:
            years[year][DEFAULT_KEY] = default_means(folder.model, pairs, folder.root / year / STORED)
    report = {"config": settings(run), "kept_out_together": True, "chosen_on": list(years), "years": years}
    report["average"] = average(years)
    if both:
        report[f"{DEFAULT_KEY}_average"] = average(years, DEFAULT_KEY)
    write_text(folder.root / f"{name}.json", as_json(report))
    return {
        year: {measure: scores["mean"][measure] for measure in MEASURES} for year, scores in years.items()
    }


def flat(values: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Return nested settings by their dotted names."""
    parts = {}
    for name, value in values.items():
        parts |= flat(value, f"{before}{name}.") if isinstance(value, dict) else {before + name: value}
    return parts


def row(folder: RunDirectory, first: dict[str, Any], means: Means) -> str:
    """Return one line of the table."""
    settings = flat(folder.config().to_dict())
    changes = ", ".join(f"{name} {value}" for name, value in settings.items() if first.get(name) != value)
    overall = [sum(year[name] for year in means.values()) / len(means) for name in MEASURES]
    minutes = json.loads(folder.scores.read_text())["minutes"]
    cells = [
        folder.root.name,
        changes or "as the first",
        f"{minutes:.0f}",
        *(f"{value:.2f}" for value in overall),
        " / ".join(f"{year['fm']:.2f}" for year in means.values()),
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="ROOT")
    parser.add_argument("--context", action="store_true", help="Show the network the whole page, reduced.")
    parser.add_argument(
        "--both-protocols", action="store_true", help="Score as folds are scored, by both protocols."
    )
    parser.add_argument("--save", action="store_true", help="Write the binarized pages to the runs' folders.")
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    args = parser.parse_args()
    folders = [RunDirectory(run) for run in args.runs]
    first = flat(folders[0].config().to_dict())
    print(f"| run | differs in | minutes | {' | '.join(MEASURES.values())} | FM by year |")
    print("|---" * (4 + len(MEASURES)) + "|")
    for folder in folders:
        means = measured(folder, args.data, context=args.context, save=args.save, both=args.both_protocols)
        print(row(folder, first, means), flush=True)


if __name__ == "__main__":
    main()
