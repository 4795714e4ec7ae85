"""What each rule around the network is worth: pages with the rule and without it, where it acts.

    python benchmarks/rules.py                                   # one made page of each kind
    python benchmarks/rules.py --data ROOT --years 2016,2018     # the pages of contests as well
    python benchmarks/rules.py --keep all                        # everything drawn is ink

It needs `pip install "drmamba[anypage]"` for the made pages. A page says by its flags which rules acted; it is
binarized again without each of these. The table has, for each rule, the pages on which it acted, the mean gain in FM on
those, the mean gain over all pages, and the largest loss. On made pages everything drawn is true ink, areas in tone do
not count, and the gain of pictures is therefore not seen.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from anypage_pages import KINDS, make_page, require_fonts
from drmamba import Binarizer
from drmamba.config import InferenceConfig
from drmamba.data.dibco import find_pairs
from drmamba.errors import DRMambaError
from drmamba.images import read_ink, read_rgb
from drmamba.metrics import count
from drmamba.metrics.counts import f_measure

# The flag that a rule sets when it acts, and the setting that turns it off.
RULES: dict[str, dict[str, Any]] = {
    "inverted": {"invert": False},
    "sideways": {"auto_rotate": False},
    "stretched": {"auto_contrast": False},
    "grained": {"add_noise": False},
    "rescaled": {"scale": 1.0},
    "dark_margins": {"margins": False},
    "second_look": {"second_look": False},
    "restored": {"restore": False},
    "picture": {"find_pictures": False},
}
FIRST = 100  # number of the first page of each kind, if none is given


@dataclass(frozen=True)
class Gain:
    """What a rule did to a page."""

    source: str  # contest or made
    page: str
    rule: str
    gain: float  # FM with the rule less FM without it


def pages(
    root: Path | None, years: tuple[str, ...], made: range, kinds: tuple[str, ...]
) -> Iterator[tuple[Any, ...]]:
    """Yield where a page is from, its name, the scan, the true ink, and what does not count."""
    for kind in kinds:
        for number in made:
            page = make_page(kind, number)
            yield "made", f"{kind} {number}", page.scan, page.ink, page.tone
    for pair in find_pairs(root) if root else ():
        if not years or pair.year in years:
            truth = read_ink(pair.truth)
            yield "contest", f"{pair.year}/{pair.name}", read_rgb(pair.image), truth, np.zeros_like(truth)


def gains(binarizer: Binarizer, source: str, name: str, scan: Any, truth: Any, tone: Any) -> Iterator[Gain]:
    """Yield what each rule that acts on a page does to it."""

    def fm(**settings: Any) -> tuple[float, tuple[str, ...]]:
        page = binarizer(scan, **settings)
        return f_measure(count(page.binary & ~tone, truth & ~tone)), page.quality.flags

    usual, flags = fm()
    print(f"{name}: FM {usual:.2f} {' '.join(flags)}", file=sys.stderr)
    for rule, off in RULES.items():
        if rule in flags:
            yield Gain(source, name, rule, usual - fm(**off)[0])


def table(found: list[Gain], totals: dict[str, int]) -> str:
    """Return a line for each rule and source."""
    lines = ["| rule | pages | acted on | mean gain there | mean gain over all | largest loss |"]
    lines.append("|---|---|---:|---:|---:|---:|")
    for rule in RULES:
        for source, total in totals.items():
            own = [one.gain for one in found if one.rule == rule and one.source == source]
            cells = (
                f"{np.mean(own):+.2f} | {sum(own) / total:+.2f} | {max(0.0, -min(own)):.2f}"
                if own
                else "| | "
            )
            lines.append(f"| `{rule}` | {total} {source} | {len(own)} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, metavar="ROOT", help="A folder of contest pages.")
    parser.add_argument(
        "--years", default="", help="Years of contests, with commas between them; all if left out."
    )
    parser.add_argument("--first", type=int, default=FIRST, help="The number of the first page of each kind.")
    parser.add_argument(
        "--without", choices=tuple(RULES), action="append", default=[], help="A rule that is off throughout."
    )
    parser.add_argument("--pages", type=int, default=1, help="Made pages of each kind; 0 leaves them out.")
    parser.add_argument(
        "--kinds", default=",".join(KINDS), help="Kinds of made pages, with commas between them."
    )
    parser.add_argument("--model", default="lite", help="A preset's name or a model file.")
    parser.add_argument(
        "--keep", choices=("text", "all"), default="text", help="What the network keeps as ink."
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="Write every gain to this file.")
    args = parser.parse_args()
    off = {name: value for rule in args.without for name, value in RULES[rule].items()}
    binarizer = Binarizer.from_pretrained(args.model, config=replace(InferenceConfig(keep=args.keep), **off))
    found: list[Gain] = []
    totals: dict[str, int] = {}
    years, kinds = tuple(filter(None, args.years.split(","))), tuple(args.kinds.split(","))
    try:
        if args.pages:
            require_fonts()
        for page in pages(args.data, years, range(args.first, args.first + args.pages), kinds):
            totals[page[0]] = totals.get(page[0], 0) + 1
            found += gains(binarizer, *page)
    except DRMambaError as error:
        sys.exit(str(error))
    if args.json:
        facts = {"pages": totals, "gains": [asdict(one) for one in found]}
        args.json.write_text(json.dumps(facts, indent=1) + "\n")
    print(table(found, totals))


if __name__ == "__main__":
    main()
