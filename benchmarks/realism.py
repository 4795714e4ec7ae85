"""Are synthetic pages like real ones? How legible their ink is, and where its outline lies in the truth.

    python benchmarks/realism.py --data ROOT [--years 2009,2010,...] [--textures DIR] [--pages 100]

For each set of pages: the contrast between ink and paper, as a share of full brightness, and the same in standard
deviations of the paper, both in blocks of 64 pixels with ink, at the 5th, 25th and 50th percentile of the blocks; the
mean width of strokes; and the darkness of the outermost ink and of the paper beside it, as shares of the darkness in
the middle of the strokes (medians over pages). The outline of the truth lies where the ink is about as dark as the
mean of the last two. Synthetic pages are 600 pixels wide and high.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from drmamba.config import recipe
from drmamba.data.degrade.ink import layers
from drmamba.data.degrade.legibility import contrasts
from drmamba.data.dibco import find_pairs
from drmamba.data.page import LabelledPage
from drmamba.data.paper_textures import PaperTextures
from drmamba.data.synthetic.scene import Synthesizer
from drmamba.images import read_ink, read_rgb

LARGEST = 1500  # rows and columns that are taken of a page
SIDE = 600  # pixels of a synthetic page
LEAST_CORE = 100  # pixels; the darkness in the middle of strokes is not measured on fewer
PERCENTILES = (5, 25, 50)


def real(root: Path, years: list[str]) -> Iterator[LabelledPage]:
    """The pages of contests."""
    for pair in find_pairs(root):
        if not years or pair.year in years:
            image = read_rgb(pair.image)[:LARGEST, :LARGEST].astype(np.float32) / 255
            yield LabelledPage(np.ascontiguousarray(image), read_ink(pair.truth)[:LARGEST, :LARGEST])


def synthetic(textures: Path | None, pages: int) -> Iterator[LabelledPage]:
    """Synthetic pages under the contests' convention."""
    source = Synthesizer(recipe("lite").data.synthetic, PaperTextures(textures))
    for number in range(pages):
        yield source.page(np.random.default_rng(number), (SIDE, SIDE))


def outline(page: LabelledPage) -> tuple[float, float, float] | None:
    """The width of strokes, and the darkness of the outermost ink and of the paper beside it; None without ink."""
    ink = page.ink
    core = ndimage.binary_erosion(ink, iterations=2)
    if np.count_nonzero(core) < LEAST_CORE:
        core = ndimage.binary_erosion(ink)
    if np.count_nonzero(core) < LEAST_CORE:
        return None
    dark = 1 - (page.image / layers(page).paper).mean(2)
    edge = ink & ~ndimage.binary_erosion(ink)
    beside = ndimage.binary_dilation(ink) & ~ink
    middle = float(np.median(dark[core]))
    width = 2 * np.count_nonzero(ink) / np.count_nonzero(edge)
    return width, float(np.median(dark[edge])) / middle, float(np.median(dark[beside])) / middle


def row(name: str, pages: Iterable[LabelledPage]) -> str:
    """One line of the table."""
    blocks: list[NDArray[np.float32]] = []
    outlines = []
    for page in pages:
        blocks.append(np.stack(contrasts(page), 1))
        outlines.append(outline(page))
    contrast, separation = np.concatenate(blocks).T
    cells = [
        " / ".join(f"{value:.2f}" for value in np.percentile(values, PERCENTILES))
        for values in (contrast, separation)
    ]
    known = np.median([found for found in outlines if found], axis=0)
    return (
        f"| {name} | {len(outlines)} | " + " | ".join([*cells, *(f"{value:.2f}" for value in known)]) + " |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="ROOT")
    parser.add_argument("--years", default="", help="Measure these years only.")
    parser.add_argument("--textures", type=Path, help="A folder of blank paper.")
    parser.add_argument("--pages", type=int, default=100, help="Make this many synthetic pages.")
    args = parser.parse_args()
    print("| pages | number | contrast | in deviations | stroke width | outermost ink | paper beside it |")
    print("|---|" + "---:|" * 6)
    years = args.years.split(",") if args.years else []
    print(row("contests", real(args.data, years)), flush=True)
    print(row("synthetic", synthetic(args.textures, args.pages)))


if __name__ == "__main__":
    main()
