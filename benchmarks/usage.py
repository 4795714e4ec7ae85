"""The contribution of each route of a trained model, and of its depth: FM, and the pixels that change without them.

    python benchmarks/usage.py --data ROOT --years 2012,2016,2018 MODEL [MODEL ...]

D or B is set to zero, or its mean over the window replaces beta, the block's contribution, or the deep features F_3 and
F_4. Pages are seen in windows of 512 with the default stride, by the network alone (no scaling, no page context unless
--context is given). `drmamba export --usage` puts what --json prints of one model into a model card.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from drmamba import checkpoint
from drmamba.config import EngineConfig, replace_values
from drmamba.data.dibco import find_pairs
from drmamba.inference.explain.usage import WHOLE, route_usage
from drmamba.training.run_data import evaluation_pages
from drmamba.training.scoring import VALIDATION_CONFIG


def usage(model: Path, data: Path, years: list[str], *, context: bool) -> dict[str, dict[str, float]]:
    """By replaced part ("whole": nothing): FM, its difference to the whole, and the share of pixels that change."""
    network, _ = checkpoint.load(model)
    network.eval()
    pages = evaluation_pages([pair for pair in find_pairs(data) if pair.year in years])
    config = replace_values(VALIDATION_CONFIG, {"context": context})
    found = route_usage(network, [page.read for page in pages], config, EngineConfig(device="cpu"))
    result: dict[str, dict[str, float]] = {}
    for parts in zip(*found, strict=True):  # one part on all pages
        fm: dict[str, list[float]] = {year: [] for year in years}
        for page, part in zip(pages, parts, strict=True):
            fm[page.year].append(float(part.fm or 0))
        mean = float(np.mean([np.mean(values) for values in fm.values()]))
        result[parts[0].part] = {"fm": mean, "pixels": float(np.mean([part.pixels for part in parts]))}
        result[parts[0].part]["difference"] = mean - result[WHOLE]["fm"]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="ROOT")
    parser.add_argument("--years", default="2012,2016,2018")
    parser.add_argument("--context", action="store_true", help="Show the network the whole page, too.")
    parser.add_argument("--json", action="store_true", help="Print JSON instead of a table.")
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL")
    args = parser.parse_args()
    found: dict[str, Any] = {}
    for model in args.models:
        found[str(model)] = usage(model, args.data, args.years.split(","), context=args.context)
        if not args.json:
            print(f"{model}\n{'replaced':<12} {'FM':>7} {'change':>7} {'pixels %':>9}")
            for part, row in found[str(model)].items():
                print(
                    f"{part:<12} {row['fm']:7.2f} {row['difference']:+7.2f} {row['pixels']:9.2f}", flush=True
                )
    if args.json:
        print(json.dumps({"years": args.years.split(","), "models": found}, indent=1))


if __name__ == "__main__":
    main()
