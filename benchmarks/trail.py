"""Compares runs by the years that they kept out: the tables of "Choosing the recipe" in docs/experiments.md.

    drmamba train --data ROOT --hold-out none --validate-on 2012,2016,2018 ... -o RUN
    python benchmarks/trail.py --data ROOT RUN [RUN ...]

A row is a run: what it sets otherwise than the first, and its measures, each the mean of the kept-out years' means.
Pages are seen in windows of 512 with the everyday stride. Every page's scores go to RUN/trail.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from drmamba import checkpoint
from drmamba.data.dibco import find_pairs
from drmamba.files import write_atomic
from drmamba.training.run_data import evaluation_pages
from drmamba.training.run_directory import RunDirectory
from drmamba.training.scoring import VALIDATION_CONFIG, final_scores

MEASURES = {
    "fm": "FM",
    "pfm": "p-FM",
    "psnr": "PSNR",
    "drd": "DRD",
    "precision": "precision",
    "recall": "recall",
}
Means = dict[str, dict[str, float]]  # by year, by measure


def measured(folder: RunDirectory, data: Path) -> Means:
    """The means of each year that the run kept out."""
    network, _ = checkpoint.load(folder.model)
    network.eval()
    means: Means = {}
    pages: list[dict[str, Any]] = []
    for year in folder.config().data.validate_on:
        scores = final_scores(
            network,
            evaluation_pages([pair for pair in find_pairs(data) if pair.year == year]),
            config=VALIDATION_CONFIG,
        )
        means[year] = {name: scores["mean"][name] for name in MEASURES}
        pages += scores["pages"]
    write_atomic(folder.root / "trail.json", json.dumps({"means": means, "pages": pages}, indent=1).encode())
    return means


def flat(values: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Settings by their dotted names."""
    parts = {}
    for name, value in values.items():
        parts |= flat(value, f"{before}{name}.") if isinstance(value, dict) else {before + name: value}
    return parts


def row(folder: RunDirectory, first: dict[str, Any], data: Path) -> str:
    """A line of the table."""
    means = measured(folder, data)
    settings = flat(folder.config().to_dict())
    told = ", ".join(f"{name} {value}" for name, value in settings.items() if first.get(name) != value)
    overall = [sum(year[name] for year in means.values()) / len(means) for name in MEASURES]
    minutes = json.loads(folder.scores.read_text())["minutes"]
    cells = [
        folder.root.name,
        told or "as the first",
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
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    args = parser.parse_args()
    folders = [RunDirectory(run) for run in args.runs]
    first = flat(folders[0].config().to_dict())
    print(f"| run | set otherwise | minutes | {' | '.join(MEASURES.values())} | FM by year |")
    print("|---" * (4 + len(MEASURES)) + "|")
    for folder in folders:
        print(row(folder, first, args.data), flush=True)


if __name__ == "__main__":
    main()
