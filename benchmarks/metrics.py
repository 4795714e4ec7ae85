"""The seconds that scoring takes: one page of 2000 x 3000 pixels, and every page of a data root.

python benchmarks/metrics.py [--data ROOT] --json

The large page is drawn here: rows of strokes of several widths, about 8 % ink, and a prediction with noise. Its time is
given in seconds and as a ratio to one Euclidean distance transform of the same page (scipy) in the same run. With
--data, every ground truth is scored against a thickened copy of itself, one page per core; that time includes reading.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

from drmamba.data.dibco import find_pairs
from drmamba.images import Ink, read_ink
from drmamba.metrics import score


def drawn_page(height: int, width: int) -> Ink:
    """Lines of crooked strokes."""
    rng = np.random.default_rng(0)
    page = np.zeros((height, width), bool)
    for top in range(60, height - 80, 75):
        for left in range(80, width - 110, 34):
            thick = int(rng.integers(2, 8))
            for _ in range(3):
                (y0, y1), (x0, x1) = rng.integers(0, 42, 2), rng.integers(0, 26, 2)
                steps = max(abs(int(y1 - y0)), abs(int(x1 - x0)), 1)
                for y, x in zip(np.linspace(y0, y1, steps), np.linspace(x0, x1, steps), strict=True):
                    page[top + int(y) : top + int(y) + thick, left + int(x) : left + int(x) + thick] = True
    return page


def best(function: Callable[[], object], rounds: int) -> float:
    """The seconds of the fastest of several calls."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    score(np.eye(9, dtype=bool), np.eye(9, dtype=bool))  # compile, or load what was compiled
    truth = drawn_page(3000, 2000)
    found = truth ^ (np.random.default_rng(1).random(truth.shape) < 0.01)
    seconds = best(lambda: score(found, truth), options.rounds)
    transform = best(lambda: ndimage.distance_transform_edt(~truth), options.rounds)
    facts: dict[str, Any] = {
        "page": "2000 x 3000",
        "ink": round(float(truth.mean()), 4),
        "score_seconds": round(seconds, 3),
        "edt_seconds": round(transform, 3),
        "ratio": round(seconds / transform, 3),
    }
    if options.data:
        pairs = find_pairs(options.data)
        workers = os.cpu_count() or 1

        def one(path: Path) -> float:
            ink = read_ink(path)
            return score(ndimage.binary_dilation(ink), ink).fm

        start = time.perf_counter()
        with ThreadPoolExecutor(workers) as pool:
            count = len(list(pool.map(one, [pair.truth for pair in pairs])))
        facts |= {
            "data_pages": count,
            "workers": workers,
            "data_seconds": round(time.perf_counter() - start, 1),
        }
    if options.json:
        print(json.dumps(facts))
    else:
        for name, value in facts.items():
            print(f"{name:<16} {value}")


if __name__ == "__main__":
    main()
