"""Leave one collection out: train on the contests and on all collections but one, and score that one.

    python benchmarks/leave_collection_out.py --data ROOT --extra EXTRA -o RUNS [--init MODEL] [--steps 1200]
    python benchmarks/leave_collection_out.py --extra EXTRA --model FILE    # score a model that has seen none of them

EXTRA holds a folder <collection>/img and <collection>/gt for each. What a collection calls ink is its convention:
each is trained on by its own and asked for by it. Runs resume; finished ones are only scored. FM is the mean over the
pages of a collection, by the default protocol and by windows alone, beside classical methods on the same pages.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from drmamba import checkpoint
from drmamba.config import KEPT, PROTOCOLS, Convention, InferenceConfig, RunConfig, recipe, replace_values
from drmamba.data.dibco import Pair, find_pairs
from drmamba.experiments.benchmark.method_process import MethodError, MethodProcess
from drmamba.images import read_ink
from drmamba.metrics import count
from drmamba.metrics.counts import f_measure
from drmamba.training.run import train
from drmamba.training.run_data import evaluation_pages
from drmamba.training.run_directory import RunDirectory
from drmamba.training.scoring import binarized

METHODS = ("otsu", "sauvola", "gatos", "su")
# Collections whose ink is not what the contests call ink.
CONVENTION: dict[str, Convention] = {"synchromedia_ms": "all"}
PROTOCOL_NAMES = {"default": "default", "windows alone": "paper"}


def collections(extra: Path) -> dict[str, list[Pair]]:
    """The pairs of every collection."""
    found: dict[str, list[Pair]] = {}
    for pair in find_pairs(extra):
        found.setdefault(pair.year, []).append(pair)
    return found


def trained(args: argparse.Namespace, held_out: str, names: list[str]) -> Path:
    """The model that was trained on every collection but one."""
    folder = RunDirectory(args.output / held_out)
    if folder.finished:
        return Path(folder.model)
    resume = folder.settings.is_file()
    config = folder.config() if resume else _config(args, held_out, names)
    print(f"training without {held_out}", file=sys.stderr)
    result = train(config, folder.root, resume=resume)
    if not result.finished:
        raise SystemExit(f"the run without {held_out} was interrupted; give the same command to go on")
    return Path(folder.model)


def _config(args: argparse.Namespace, held_out: str, names: list[str]) -> RunConfig:
    extra = [f"{args.extra / name}={CONVENTION.get(name, 'contest')}" for name in names if name != held_out]
    return replace_values(
        recipe("lite"),
        {
            "source": {"data": str(args.data), "extra": extra, "init": str(args.init) if args.init else None},
            "data": {"validation_share": 0.0, "textures": str(args.textures) if args.textures else None},
            "train": {"steps": args.steps, "validations": 1, "seed": args.seed},
        },
    )


def scores(model: Path, name: str, pairs: list[Pair]) -> dict[str, Any]:
    """The FM of every page of a collection by each protocol."""
    network, _ = checkpoint.load(model)
    convention = CONVENTION.get(name, "contest")
    keep = next(choice for choice, behind in KEPT.items() if behind == convention)
    result: dict[str, Any] = {}
    for label, protocol in PROTOCOL_NAMES.items():
        settings: dict[str, Any] = {"keep": keep} if network.config.conventions else {}
        config: InferenceConfig = replace_values(PROTOCOLS[protocol], settings)
        result[label] = {
            page.name: f_measure(count(found, truth))
            for page, found, truth in binarized(network, evaluation_pages(pairs), config, "cpu")
        }
    return result


def classical(pairs: list[Pair]) -> dict[str, dict[str, float]]:
    """The FM of every page by each classical method; a page on which a method fails is reported and left out."""
    result: dict[str, dict[str, float]] = {}
    for method in METHODS:
        result[method] = {}
        with MethodProcess("classical", method, "default") as process, TemporaryDirectory() as folder:
            for pair in pairs:
                found = Path(folder) / "ink.png"
                try:
                    process.binarize(pair.image, found)
                except MethodError as error:
                    print(f"{method} failed on {pair.label}: {error}", file=sys.stderr)
                    continue
                result[method][pair.name] = f_measure(count(read_ink(found), read_ink(pair.truth)))
    return result


def table(found: dict[str, dict[str, dict[str, float]]]) -> str:
    """A table of collections by methods: the mean FM; in brackets, that of the worst page and how many pages failed."""
    columns = [*PROTOCOL_NAMES, *METHODS]
    lines = ["| collection | pages | " + " | ".join(columns) + " |", "|---" * (2 + len(columns)) + "|"]
    for name, methods in found.items():
        pages = len(methods["default"])
        cells = [_cell(list(methods[column].values()), pages) for column in columns]
        lines.append(f"| {name} | {pages} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(values: list[float], pages: int) -> str:
    if not values:
        return "failed"
    missing = f", {pages - len(values)} failed" if len(values) < pages else ""
    return f"{np.mean(values):.1f} ({min(values):.1f}{missing})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, metavar="ROOT", help="The contests' pages.")
    parser.add_argument("--extra", type=Path, required=True, help="The collections.")
    parser.add_argument("--textures", type=Path, help="A folder of blank paper.")
    parser.add_argument("--only", help="Score these collections only, as a,b.")
    parser.add_argument("--model", type=Path, help="Score this model instead of training.")
    parser.add_argument("--init", type=Path, help="The model that each run starts from.")
    parser.add_argument("--steps", type=int, default=1200, help="Updates of each run.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, help="A folder for the runs.")
    parser.add_argument("--json", action="store_true", help="Print every page's FM as JSON.")
    args = parser.parse_args()
    if not args.model and not (args.data and args.output):
        parser.error("give --data and -o to train, or --model to score")
    every = collections(args.extra)
    chosen = args.only.split(",") if args.only else list(every)
    found: dict[str, Any] = {}
    for name in chosen:
        if name not in every:
            parser.error(f"there is no collection {name!r}; there are {', '.join(every)}")
        model = args.model or trained(args, name, list(every))
        found[name] = scores(model, name, every[name]) | classical(every[name])
        print(table({name: found[name]}).splitlines()[-1], file=sys.stderr, flush=True)
    print(json.dumps(found, indent=1) if args.json else table(found))


if __name__ == "__main__":
    main()
