"""Is the gate beta the adaptation to a page that the paper claims? What it varies with, and what that is worth.

    python benchmarks/gate.py --data ROOT --years 2012,2016,2018 [--textures DIR] [--json] MODEL

It prints how the variance of beta divides into that between years, between pages and within pages; how far each kind of
degradation moves a page's mean beta; and FM if a page gets another beta than its own, with intervals over pages. A page
is swapped with the next one of another year if there is one.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from drmamba import checkpoint
from drmamba.config import DataConfig, replace_values
from drmamba.data.degrade import DEGRADATIONS
from drmamba.data.dibco import find_pairs
from drmamba.data.paper_textures import PaperTextures
from drmamba.data.pool import PagePool
from drmamba.experiments.paired import interval
from drmamba.experiments.studies.gate import (
    CHOICES,
    OWN,
    GatePage,
    degradation_shifts,
    fm_by_beta,
    gate_statistics,
    require_gate,
    variance_shares,
)
from drmamba.images import read_ink, read_rgb
from drmamba.model.fuse import fused


def measured(
    model: Path, data: Path, years: list[str], kinds: list[str], textures: str | None
) -> dict[str, Any]:
    """Everything that this script prints."""
    network = fused(checkpoint.load(model)[0])
    require_gate(network)
    pairs = [pair for pair in find_pairs(data) if pair.year in years]
    pages = [GatePage(pair.year, pair.name, read_rgb(pair.image), read_ink(pair.truth)) for pair in pairs]
    statistics = {(page.year, page.name): gate_statistics(network, page.image) for page in pages}
    config = replace_values(DataConfig(), {"textures": textures}) if textures else DataConfig()
    pool = PagePool(pairs, config, PaperTextures(config.textures))
    fm = {}
    for number, page in enumerate(pages):
        order = pages[number + 1 :] + pages[:number]
        other = next((p for p in order if p.year != page.year), order[0])
        fm[f"{page.year}/{page.name}"] = fm_by_beta(network, page, other, statistics)
    changes = {
        choice: interval([found[choice] - found[OWN] for found in fm.values()])._asdict()
        for choice in CHOICES
        if choice != OWN
    }
    return {
        "variance": asdict(variance_shares(statistics)),
        "degradations": degradation_shifts(network, pages, kinds, pool),
        "fm_own": float(sum(found[OWN] for found in fm.values()) / len(fm)),
        "changes": changes,
        "pages": fm,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="ROOT")
    parser.add_argument("--years", default="2012,2016,2018")
    parser.add_argument(
        "--degradations",
        default=",".join(DEGRADATIONS),
        help="Measure these kinds of degradation; an empty value stands for none. [default: all]",
    )
    parser.add_argument("--textures", metavar="DIR", help="Blank paper for the degradation new_paper.")
    parser.add_argument("--json", action="store_true", help="Print JSON instead of tables.")
    parser.add_argument("model", type=Path, metavar="MODEL")
    args = parser.parse_args()
    kinds = [kind for kind in args.degradations.split(",") if kind]
    found = measured(args.model, args.data, args.years.split(","), kinds, args.textures)
    if args.json:
        print(json.dumps(found, indent=1))
        return
    variance = found["variance"]
    print(f"standard deviation of beta: {variance['deviation']:.4f}; of its variance lie")
    print(
        f"  {variance['years']:.1f} % between years, {variance['pages']:.1f} % between the pages of a year, "
        f"{variance['within']:.1f} % within pages"
    )
    print(f"\n{'degradation':<16} {'move of the mean':>17} {'same direction':>15}")
    for kind, (size, direction) in found["degradations"].items():
        print(f"{kind:<16} {size:17.4f} {direction:15.2f}")
    print(f"\nFM with its own beta: {found['fm_own']:.2f}; the change with")
    for choice, change in found["changes"].items():
        print(f"  {choice:<34} {change['mean']:+7.2f} ({change['low']:+.2f} to {change['high']:+.2f})")


if __name__ == "__main__":
    main()
