"""Pages that lie on their side: how often they are recognized, and the FM that rotating them gains.

    python benchmarks/direction.py --data ROOT --model FILE                 # are they recognized?
    python benchmarks/direction.py --data ROOT --model FILE --years 2018 --score   # also FM of rotated pages

Every page is judged as it is and rotated by a quarter turn. --lying names the pages that lie on their side in the data.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from drmamba import Binarizer
from drmamba.config import PROTOCOLS
from drmamba.data.dibco import find_pairs
from drmamba.images import ArraySource, read_ink, read_rgb
from drmamba.inference.analysis import analyse_page
from drmamba.inference.view import LEVEL_SCORE
from drmamba.metrics import score


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="lite")
    parser.add_argument("--years", default="", help="only these")
    parser.add_argument(
        "--lying", default="", help="Count these pages as lying on their side, as in H02,H05."
    )
    parser.add_argument(
        "--score", action="store_true", help="Binarize the rotated pages with and without rotating them back."
    )
    args = parser.parse_args()
    lying = set(filter(None, args.lying.split(",")))
    pages = asked = wrong = 0
    fm: list[list[float]] = []
    with Binarizer.from_pretrained(args.model) as binarizer:
        for pair in find_pairs(args.data):
            if args.years and pair.year not in args.years.split(","):
                continue
            image, truth = read_rgb(pair.image), read_ink(pair.truth)
            for quarters in (0, 1):
                page = np.rot90(image, quarters)
                rows = ArraySource(page)
                analysis = analyse_page(rows)
                found = binarizer.view(rows, analysis, PROTOCOLS["default"]).rotated
                pages += 1
                asked += analysis.orientation < LEVEL_SCORE
                if found != ((pair.name in lying) ^ bool(quarters)):
                    wrong += 1
                    print(
                        f"wrong: {pair.label}, rotated by {quarters} quarter turns, score {analysis.orientation:.2f}",
                        flush=True,
                    )
            if args.score:
                fm.append(
                    [score(binarizer(page, auto_rotate=t).binary, np.rot90(truth)).fm for t in (True, False)]
                )
                print(f"{pair.label}: FM {fm[-1][0]:.1f}, not rotated back {fm[-1][1]:.1f}", flush=True)
    print(f"{wrong} of {pages} pages were judged wrongly; the network was needed for {asked}")
    if fm:
        print("mean FM {:.2f}, not rotated back {:.2f}".format(*np.mean(fm, axis=0)))


if __name__ == "__main__":
    main()
