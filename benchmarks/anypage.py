"""Binarizers on ordinary pages that contests do not contain: newspapers, tables, maps, photographs and others.

    python benchmarks/anypage.py                              # 240 made pages of 22 kinds, five methods
    python benchmarks/anypage.py --pages 2 --kinds map,table  # a look at two pages of two kinds
    python benchmarks/anypage.py --json                       # everything as JSON
    python benchmarks/anypage.py --save FOLDER --pages 1      # the pages, their truth and the results to look at

It needs `pip install "drmamba[anypage]"`. The pages are made by code, with fonts and textures, that no training
uses. Each page has exact truth by category: text, small print, headlines, rules (including frames and staves) and
drawings; halftones are not scored. All figures of the table are in per cent:

- the share of true pixels that were kept, by category;
- the share of found ink that lies more than two pixels from any true ink;
- FM with everything drawn counted as ink; the same with ink that touches true ink forgiven, so that bolder strokes
  cost nothing; and FM as the contests compute it, where rules and drawings are background;
- wrong characters, read by tesseract if it is on the PATH.

The method `windows` is drmamba without page context, and `truth` returns the true ink, which shows what tesseract can
read at best.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from anypage_pages import KINDS, page_count, require_fonts
from anypage_scoring.judging import Judging, Row, judge_pages
from anypage_scoring.methods import KNOWN_METHODS, METHODS
from anypage_scoring.report import goal_lines, goals, mean_scores, table
from drmamba.errors import DRMambaError
from reading import tesseract_found


def default_cache() -> Path:
    """Where results are kept between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "drmamba" / "anypage"


def names(known: tuple[str, ...], word: str) -> tuple[str, ...]:
    """Names from an option, with commas between them; underscores may stand for spaces."""
    chosen = tuple(name.strip().replace("_", " ") for name in word.split(","))
    for name in chosen:
        if name not in known:
            raise argparse.ArgumentTypeError(f"there is no {name!r}; there are {', '.join(known)}")
    return chosen


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--pages", type=int, help="Make this many pages of each kind; by default 8, and 40 of two kinds."
    )
    parser.add_argument(
        "--kinds",
        type=lambda word: names(tuple(KINDS), word),
        default=tuple(KINDS),
        help=f"Make these kinds of pages, separated by commas: {', '.join(KINDS)}.",
    )
    parser.add_argument(
        "--methods",
        type=lambda word: names(KNOWN_METHODS, word),
        default=METHODS,
        help=f"Compare these methods, separated by commas: {', '.join(KNOWN_METHODS)}.",
    )
    parser.add_argument("--model", default="lite", help="Run drmamba with this preset or model file.")
    parser.add_argument(
        "--keep", choices=("text", "all"), help="Let drmamba keep text alone, or all that was drawn."
    )
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="Write JSON to standard output or to a file."
    )
    parser.add_argument("--save", type=Path, metavar="DIR", help="Write scans, truths and results there.")
    parser.add_argument("--no-read", action="store_true", help="Do not run tesseract, which takes time.")
    parser.add_argument("--workers", type=int, default=1, help="Judge pages in this many processes.")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="Keep results in this folder.")
    parser.add_argument("--no-cache", action="store_true", help="Neither use nor keep earlier results.")
    return parser.parse_args()


def main() -> None:
    args = options()
    readable = tesseract_found() and not args.no_read
    if not readable and not args.no_read:
        print("tesseract is not on the PATH, so no characters are counted.", file=sys.stderr)
    pages = [(kind, number) for kind in args.kinds for number in range(args.pages or page_count(kind))]
    cache = None if args.no_cache else args.cache
    judging = Judging(args.methods, args.model, args.keep, readable, cache, args.save)
    rows: list[Row] = []
    try:
        require_fonts()
        for done, found in enumerate(judge_pages(judging, pages, args.workers), 1):
            rows += found
            figures = ", ".join(f"{row['method']} {row['fm']:.1f}" for row in found)
            print(
                f"{done}/{len(pages)} {found[0]['kind']} {found[0]['number']}: FM {figures}", file=sys.stderr
            )
    except DRMambaError as error:
        sys.exit(str(error))
    means = mean_scores(rows)
    reached = goals(means)
    if args.json is None:
        print(table(means), goal_lines(reached), sep="\n\n")
        return
    facts = {"pages": len(pages), "model": args.model, "keep": args.keep, "tesseract": readable}
    text = json.dumps({**facts, "means": means, "goals": reached, "rows": rows}, indent=1)
    if args.json == "-":
        print(text)
    else:
        Path(args.json).write_text(text + "\n")


if __name__ == "__main__":
    main()
