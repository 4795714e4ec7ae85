"""The overlap that windows need: results at several strides against the densest, and against the ground truth.

    python benchmarks/overlap.py --data ROOT --years 2016,2018

For every stride it prints the pixels that the network sees for each pixel of the page, the pixels per megapixel that
differ from the result of the densest stride, the same near the edges of windows, and the mean scores. The default
stride is the largest at which nothing changes that matters; docs/performance.md quotes a run.
"""

from __future__ import annotations

import argparse
import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from drmamba.config import InferenceConfig, WindowConfig
from drmamba.images import ArraySource, read_ink, read_rgb
from drmamba.inference.binarizer import Binarizer, UntrainedWarning
from drmamba.inference.tiling import Axis
from drmamba.metrics import score

SEAM = 8  # pixels on either side of a window's edge that count as its seam


def seams(length: int, windows: WindowConfig) -> np.ndarray:
    """A mask of the rows or columns near a window's edge inside the page."""
    axis = Axis.cover(length, windows.window, windows.stride, fit=windows.fit)
    near = np.zeros(length, bool)
    for start, size in zip(axis.starts, axis.sizes, strict=True):
        for edge in (start, start + size):
            if 0 < edge < length:
                near[max(0, edge - SEAM) : edge + SEAM] = True
    return near


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="ROOT/<year>/img and ROOT/<year>/gt")
    parser.add_argument("--years", default="2016,2018")
    parser.add_argument("--model", default="lite")
    parser.add_argument("--strides", default="256,384,448,480,512,544,576,608,640")
    parser.add_argument("--window", type=int, default=WindowConfig().window)
    args = parser.parse_args()
    warnings.simplefilter("ignore", UntrainedWarning)
    strides = sorted(int(stride) for stride in args.strides.split(","))
    pages = [page for year in args.years.split(",") for page in sorted((args.data / year / "img").iterdir())]
    usual = InferenceConfig()
    rows: dict[int, dict[str, list[float]]] = {stride: {} for stride in strides}
    with Binarizer.from_pretrained(args.model) as binarizer:
        for path in pages:
            page, truth = read_rgb(path), read_ink(path.parents[1] / "gt" / f"{path.stem}.png")
            densest = None
            for stride in strides:
                windows = WindowConfig(window=args.window, stride=stride, fit=stride >= usual.windows.stride)
                before = binarizer.pool.pixels
                found = binarizer.binarize(ArraySource(page), replace(usual, windows=windows, scale=1.0))
                densest = found if densest is None else densest
                different = found.binary != densest.binary
                at_seam = seams(page.shape[0], windows)[:, None] | seams(page.shape[1], windows)
                scores = score(found.binary, truth)
                for name, value in {
                    "seen": (binarizer.pool.pixels - before) / truth.size,
                    "different": 1e6 * different.mean(),
                    "different_at_seams": 1e6 * different[at_seam].mean() if at_seam.any() else 0.0,
                    "fm": scores.fm,
                    "pfm": scores.pfm,
                    "psnr": scores.psnr,
                    "drd": scores.drd,
                }.items():
                    rows[stride].setdefault(name, []).append(float(value))
    print("stride   seen  changed/Mpx  at seams/Mpx     FM    p-FM   PSNR    DRD")
    table = {
        stride: {name: float(np.mean(values)) for name, values in row.items()} for stride, row in rows.items()
    }
    for stride, row in table.items():
        print(
            f"{stride:6d} {row['seen']:6.2f} {row['different']:12.0f} {row['different_at_seams']:13.0f} "
            f"{row['fm']:6.2f} {row['pfm']:7.2f} {row['psnr']:6.2f} {row['drd']:6.2f}"
        )
    print(
        json.dumps({"model": binarizer.sha256, "pages": len(pages), "window": args.window, "strides": table})
    )


if __name__ == "__main__":
    main()
