"""The effect of scaling on pages of low and of high resolution: FM at their own size and at other sizes.

    python benchmarks/resolution.py --data ROOT --years 2012,2016,2018 --model FILE --below 4 --widths 4,5,6
    python benchmarks/resolution.py --data ROOT --years 2012,2016,2018 --model FILE --sizes 1,2 --from 9 --widths 6,8

Pages of years that the model has not seen are taken as they are, reduced and enlarged (--sizes), together with their
ground truth, where a pixel is ink if half of it is. Of a page that is enlarged, only the first megapixel is used. Pages
whose strokes are between --from and --below are binarized at their own size, and scaled so that their strokes have each
of --widths. The table has means over pages, by measured stroke width.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba import Binarizer
from drmamba.config import WindowConfig
from drmamba.data.dibco import find_pairs
from drmamba.images import ArraySource, read_ink, read_rgb
from drmamba.inference.analysis import analyse_page
from drmamba.inference.view import LARGEST_ZOOM
from drmamba.metrics import score

CLASSES = (0.0, 2.0, 2.5, 3.0, 3.5, 4.0, 9.0, 10.0, 11.0, 13.0, 16.0)
CUT = (700, 1400)  # rows and columns that are taken of a page before it is enlarged


def at_size(pixels: NDArray[np.uint8], size: Fraction) -> NDArray[np.uint8]:
    """The page as if it were scanned at another resolution."""
    if size <= 1:
        return np.asarray(Image.fromarray(pixels).reduce(size.denominator))
    image = Image.fromarray(pixels[: CUT[0], : CUT[1]])
    return np.asarray(image.resize([round(side * size) for side in image.size], Image.Resampling.BICUBIC))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--years", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument(
        "--sizes",
        default="1/3,1/2,1",
        help="Scale pages by these factors: fractions 1/N, 1, or larger numbers.",
    )
    parser.add_argument(
        "--from", dest="least", type=float, default=0.0, help="Leave out pages with narrower strokes."
    )
    parser.add_argument(
        "--below",
        type=float,
        default=float("inf"),
        help="Leave out pages with strokes of this width or more.",
    )
    parser.add_argument("--widths", default="5")
    args = parser.parse_args()
    widths = [float(width) for width in args.widths.split(",")]
    gains: dict[float, list[list[float]]] = defaultdict(list)
    options = {"invert": False, "auto_rotate": False, "margins": False, "windows": WindowConfig()}
    with Binarizer.from_pretrained(args.model) as binarizer:
        for pair in find_pairs(args.data):
            if pair.year not in args.years.split(","):
                continue
            for size in map(Fraction, args.sizes.split(",")):
                page = at_size(read_rgb(pair.image), size)
                truth = at_size(read_ink(pair.truth).astype(np.uint8) * 255, size) > 127
                strokes = analyse_page(ArraySource(page)).strokes
                if strokes is None or not args.least <= strokes.width < args.below:
                    continue
                scales = [1.0, *(min(LARGEST_ZOOM, width / strokes.width) for width in widths)]
                fm = [score(binarizer(page, scale=s, **options).binary, truth).fm for s in scales]
                figures = " ".join(f"{value:.1f}" for value in fm)
                print(f"{pair.label} at {size}: {strokes.width:.2f} pixels, FM {figures}", flush=True)
                gains[max(low for low in CLASSES if low <= strokes.width)].append(fm)
    print("| stroke width from | pages | as it is |", *(f"strokes of {width:g} |" for width in widths))
    print("|" + "---:|" * (3 + len(widths)))
    for low, rows in sorted(gains.items()):
        print(f"| {low:g} | {len(rows)} |", *(f"{value:.2f} |" for value in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
