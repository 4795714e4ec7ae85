"""The effect of added noise on print that is cleaner than any scan: FM without it and with it.

    python benchmarks/clean.py [--model FILE]

Twelve pages, in four sizes and three weights, are drawn in four ways. The truth is the drawing itself, so a page that
comes back unchanged has an FM of 100.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from drmamba import Binarizer
from drmamba.metrics import score

Grey = NDArray[np.uint8]
SIDES = (1000, 600)
SIZES, WEIGHTS = (24, 36, 48, 72), (0, 1, 2)
LINE = "Pack MY box with FIVE dozen (5 x 12) liquor jugs, QUICKLY; the judge vowed six prizes. "


def drawn(size: int, weight: int) -> Grey:
    """A page of print, black on white with grey edges, as programs draw it; each weight makes strokes bolder."""
    page = Image.new("L", SIDES, 255)
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(size)
    for line, top in enumerate(range(size, SIDES[1] - 2 * size, size * 3 // 2)):
        text = (LINE[line * 7 % len(LINE) :] + LINE)[: 1500 // size]
        draw.text((size, top), text, 0, font, stroke_width=weight * size / 48)
    return np.asarray(page)


def sharp(page: Grey) -> Grey:
    """The page in pure black and white."""
    return np.where(page < 128, 0, 255).astype(np.uint8)


def compressed(page: Grey) -> Grey:
    """The page after JPEG compression at quality 75."""
    file = io.BytesIO()
    Image.fromarray(page).save(file, "JPEG", quality=75)
    return np.asarray(Image.open(file))


def noisy(page: Grey) -> Grey:
    """The page in dark grey on light grey, with noise of two grey levels."""
    noise = np.random.default_rng(0).normal(0, 2, page.shape)
    return np.clip(20 + page * (220 / 255) + noise, 0, 255).astype(np.uint8)


KINDS: dict[str, Callable[[Grey], Grey]] = {
    "black on white, grey edges": lambda page: page,
    "the same as JPEG, quality 75": compressed,
    "20 on 240, noise of 2": noisy,
    "black and white alone (`--no-keep-bilevel`)": sharp,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="lite")
    args = parser.parse_args()
    pages = [drawn(size, weight) for size in SIZES for weight in WEIGHTS]
    print("| page | without noise | worst page | with noise | worst page |")
    print("|---|---:|---:|---:|---:|")
    with Binarizer.from_pretrained(args.model) as binarizer:
        # A model that has learned from such pages gets no noise otherwise.
        runtime = binarizer.pool.runtime
        runtime.model = replace(runtime.model, clean_pages=False)
        for name, kind in KINDS.items():
            scores = []
            for page in pages:
                found = [
                    binarizer(kind(page), add_noise=add, keep_bilevel=False).binary for add in (False, True)
                ]
                scores.append([score(ink, page < 128).fm for ink in found])
            columns = np.column_stack([np.mean(scores, axis=0), np.min(scores, axis=0)]).ravel()
            print(f"| {name} |", *(f"{value:.2f} |" for value in columns), flush=True)


if __name__ == "__main__":
    main()
