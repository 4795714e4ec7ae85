"""The qualitative figure: input, ground truth, and the results of two series of runs, on the worst and best pages.

    python benchmarks/gallery.py --data ROOT --years 2018 --runs "two routes=LOO" --runs "one=SINGLE" -o FIGURE.png

LOO and SINGLE are folders of runs by held-out year, as `drmamba loo -o` leaves them: LOO/2018/held_out/*.png. The
folder of a single run, such as RUN/runs/A4-2019-0 of `drmamba ablate`, works as well. Pages are ordered by the FM of
the first series or, with --order change, by the difference of the two series. The figure shows as many pages from each
end as --rows says. Of each page it shows the square in which the first series has most wrong pixels (worst pages) or
most ink (best pages). Lost ink is red, false ink blue.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import ndimage

from drmamba.data.dibco import Pair, find_pairs
from drmamba.images import read_ink, read_rgb
from drmamba.metrics import count
from drmamba.metrics.counts import f_measure

LOST, FALSE = (214, 39, 40), (31, 119, 220)


def coloured(found: NDArray[np.bool_], truth: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Ink black on white, lost ink red, false ink blue."""
    picture = np.full((*truth.shape, 3), 255, np.uint8)
    picture[found & truth] = 0
    picture[~found & truth] = LOST
    picture[found & ~truth] = FALSE
    return picture


def busiest(weight: NDArray[np.bool_], side: int) -> tuple[slice, slice]:
    """The square of that side, or the part of it that fits on the page, with the most marked pixels."""
    height, width = (min(side, length) for length in weight.shape)
    sums = ndimage.uniform_filter(weight.astype(np.float32), (height, width), mode="constant")
    rows = slice(height // 2, weight.shape[0] - (height - 1) // 2)
    columns = slice(width // 2, weight.shape[1] - (width - 1) // 2)
    top, left = np.unravel_index(sums[rows, columns].argmax(), sums[rows, columns].shape)
    return slice(int(top), int(top) + height), slice(int(left), int(left) + width)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--years", required=True)
    parser.add_argument("--runs", action="append", required=True, metavar="LABEL=FOLDER")
    parser.add_argument("--rows", type=int, default=3, help="Show this many pages from each end.")
    parser.add_argument("--side", type=int, default=420, help="Show squares of this many pixels a side.")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument(
        "--order",
        choices=("fm", "change"),
        default="fm",
        help="Order pages by FM, or by the difference of two series.",
    )
    args = parser.parse_args()
    if args.order == "change" and len(args.runs) < 2:
        parser.error("--order change compares two series; give --runs twice")
    series = [(label, Path(folder)) for label, _, folder in (text.partition("=") for text in args.runs)]
    pairs = [pair for pair in find_pairs(args.data) if pair.year in args.years.split(",")]

    def result(pair: Pair, folder: Path) -> NDArray[np.bool_]:
        year = folder / pair.year
        return read_ink((year if year.is_dir() else folder) / "held_out" / f"{pair.name}.png")

    def quality(pair: Pair) -> float:
        truth = read_ink(pair.truth)
        fm = [f_measure(count(result(pair, folder), truth)) for _, folder in series[:2]]
        return fm[0] - fm[1] if args.order == "change" else fm[0]

    ordered = sorted(pairs, key=quality)
    shown = [*ordered[: args.rows], *ordered[-args.rows :]]
    figure = Figure(figsize=(3.0 * (2 + len(series)), 3.15 * len(shown)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(shown), 2 + len(series), squeeze=False)
    for number, (row, pair) in enumerate(zip(axes, shown, strict=True)):
        page, truth = read_rgb(pair.image), read_ink(pair.truth)
        found = [result(pair, folder) for _, folder in series]
        cut = busiest(found[0] != truth if number < args.rows else truth, args.side)
        panels = [(f"{pair.year}/{pair.name}", page[cut]), ("ground truth", coloured(truth, truth)[cut])]
        for (label, _), ink in zip(series, found, strict=True):
            panels.append((f"{label}: FM {f_measure(count(ink, truth)):.1f}", coloured(ink, truth)[cut]))
        for axis, (title, picture) in zip(row, panels, strict=True):
            axis.imshow(picture, interpolation="antialiased")
            axis.set_title(title, fontsize=10)
            axis.set_axis_off()
    figure.savefig(args.output, dpi=100)


if __name__ == "__main__":
    main()
