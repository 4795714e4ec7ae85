"""What --despeckle and --for manuscript change on pages with a ground truth: pixels, and F-measure before and after.

    python benchmarks/despeckle.py --data data/dibco --years 2009,2010,2012

Every page is seen by the network once; specks of several sizes are then removed from the same result.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from drmamba import Binarizer
from drmamba.images import ArraySource, Bitmap, read_ink, read_rgb
from drmamba.inference.analysis import analyse_page
from drmamba.inference.despeckle import FRAGMENT, SpeckSize, remove_specks

FACTORS = (1.0, 2.0, 4.0)  # multiples of the speck's area
THRESHOLDS = (0.4, 0.5, 0.6)


def f_measure(ink, truth) -> float:
    """Return the F-measure in per cent."""
    return 200 * np.count_nonzero(ink & truth) / max(1, np.count_nonzero(ink) + np.count_nonzero(truth))


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True), required=True, help="The data root.")
@click.option("--years", default="2009", help="The years, separated by commas.")
def main(data: Path, years: str) -> None:
    """Print one line for each size of specks and one for each threshold."""
    sizes: dict[float, list[tuple[int, int, float]]] = {factor: [] for factor in FACTORS}
    plain: dict[float, list[float]] = {threshold: [] for threshold in THRESHOLDS}
    with Binarizer.from_pretrained() as binarizer:
        for path in sorted(p for year in years.split(",") for p in (data / year / "img").iterdir()):
            truth = read_ink(next((path.parent.parent / "gt").glob(f"{path.stem}.*")))
            source = ArraySource(read_rgb(path))
            page = binarizer.binarize(source)
            for threshold in THRESHOLDS:
                plain[threshold].append(f_measure(page.probability > threshold, truth))
            strokes = analyse_page(source).strokes
            for factor in FACTORS:
                bitmap, width = Bitmap.pack(page.binary), strokes.width if strokes else 0.0
                usual = SpeckSize.of_strokes(width)
                removed = remove_specks(bitmap, SpeckSize(usual.area * factor, usual.reach)) if strokes else 0
                gone = page.binary & ~bitmap.unpack()
                gain = f_measure(bitmap.unpack(), truth) - plain[0.5][-1]
                sizes[factor].append((removed, int(np.count_nonzero(gone & truth)), gain))
    for threshold, scores in plain.items():
        print(f"threshold {threshold}: FM {np.mean(scores):.3f} on {len(scores)} pages")
    for factor, found in sizes.items():
        removed, lost, gains = (np.array(column) for column in zip(*found, strict=True))
        better, worse = int((gains > 0.005).sum()), int((gains < -0.005).sum())
        print(
            f"area {FRAGMENT * factor:g} x width^2: {removed.sum()} pixels removed, {lost.sum()} of them ink, "
            f"FM {gains.mean():+.4f}, {better} pages better, {worse} worse"
        )


if __name__ == "__main__":
    main()
