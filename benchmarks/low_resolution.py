"""What the automatic scale gives on pages of low resolution: FM as the page is, and enlarged.

    python benchmarks/low_resolution.py --data ROOT --years 2012,2016,2018 --model FILE

Pages of years that the model has not seen are taken as they are and reduced to a half and a third, their ground
truth with them (ink where half of a pixel is). Those with strokes narrower than --below are binarized at their own
size and with their strokes brought to each of --widths. The means are over pages, by measured stroke width.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba import Binarizer
from drmamba.config import WindowConfig
from drmamba.data.dibco import find_pairs
from drmamba.images import ArrayRows, read_ink, read_rgb
from drmamba.inference.rescale import LARGEST_ZOOM
from drmamba.inference.survey import survey
from drmamba.metrics import score

CLASSES = (0.0, 2.0, 2.5, 3.0, 3.5, 4.0)


def reduced(pixels: NDArray[np.uint8], factor: int) -> NDArray[np.uint8]:
    """Each `factor` x `factor` pixels in one."""
    return np.asarray(Image.fromarray(pixels).reduce(factor)) if factor > 1 else pixels


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--years", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--reduce", default="1,2,3")
    parser.add_argument("--below", type=float, default=CLASSES[-1])
    parser.add_argument("--widths", default="5,6")
    args = parser.parse_args()
    widths = [float(width) for width in args.widths.split(",")]
    gains: dict[float, list[list[float]]] = defaultdict(list)
    options = {"invert": False, "margins": False, "windows": WindowConfig()}
    with Binarizer.from_pretrained(args.model) as binarizer:
        for pair in find_pairs(args.data):
            if pair.year not in args.years.split(","):
                continue
            for factor in map(int, args.reduce.split(",")):
                page = reduced(read_rgb(pair.image), factor)
                truth = reduced(read_ink(pair.truth).astype(np.uint8) * 255, factor) > 127
                strokes = survey(ArrayRows(page)).strokes
                if strokes is None or strokes.width >= args.below:
                    continue
                scales = [1.0, *(min(LARGEST_ZOOM, width / strokes.width) for width in widths)]
                fm = [score(binarizer(page, scale=s, **options).binary, truth).fm for s in scales]
                print(
                    f"{pair.label} / {factor}: {strokes.width:.2f} pixels, FM",
                    *(f"{v:.1f}" for v in fm),
                    flush=True,
                )
                gains[max(low for low in CLASSES if low <= strokes.width)].append(fm)
    print("| stroke width from | pages | as it is |", *(f"strokes of {width:g} |" for width in widths))
    print("|" + "---:|" * (3 + len(widths)))
    for low, rows in sorted(gains.items()):
        print(f"| {low:g} | {len(rows)} |", *(f"{value:.2f} |" for value in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
