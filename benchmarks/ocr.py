"""The character errors of tesseract on degraded pages of known text, before and after binarization.

    python benchmarks/ocr.py                       # 12 pages; needs tesseract with English on the PATH
    python benchmarks/ocr.py --keep FOLDER         # leave the pages there to look at

Pages are rendered here from a word list and degraded (fading, shade, stains, bleed-through, noise, blur) by code that
no training uses. Tesseract reads the page itself and the results of Otsu, Sauvola (window 75, k 0.2) and drmamba. The
error is the edit distance divided by the length of the text; any run of white space counts as one space.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage

from reading import error_rate, read

Grey = NDArray[np.uint8]

WORDS = """
about after again against almost along already among another answer archive around because become before began
behind believe below between beyond board bridge bring broken brother business carry century certain chapter
church citizen claim clear close cold column common council country court daily danger daughter decide deliver
different distance district doctor during early east eight either electric empty enough entire evening every
example except family farmer father field figure finally first floor follow foreign forest forward four friend
general gentle given glass government grain great ground group harbour hardly heavy history horse house however
hundred important inside island journey judge keeper kitchen known labour language large later leader learn
letter library light little market matter meadow measure member merchant middle might minister moment money
month morning mother mountain narrow nature near never night north notice number ocean office often opened order
other outside paper parish party people perhaps picture place plain point porter present printed private promise
public question quick quiet railway rather reach reason record register remain report rest return river second
several shadow share short should silver simple sister small soldier someone south speak spring stand station
still stone storm street strong summer supper surface table teacher thing third though thought three through
together toward travel trouble truth twelve twenty under until upon valley village visit voice wagon water
weather welcome west whether while whole window winter within without wonder wooden world write yellow young
""".split()  # noqa: SIM905


def make_text(rng: np.random.Generator, lines: int = 22, width: int = 58) -> list[str]:
    """Lines of words, with capitals, commas and full stops."""
    text: list[str] = []
    line, capital = "", True
    while len(text) < lines:
        word = str(rng.choice(WORDS))
        word = word.capitalize() if capital else word
        end = rng.choice(["", "", "", "", "", "", ",", "."])
        capital = end == "."
        if len(line) + len(word) > width:
            text.append(line.strip())
            line = ""
        line += f"{word}{end} "
    return text


def render(text: list[str], size: int = 44) -> Grey:
    """Black on white, about 300 dpi."""
    font = ImageFont.load_default(size)
    page = Image.new("L", (1700, 260 + len(text) * int(size * 1.6)), 255)
    draw = ImageDraw.Draw(page)
    for number, line in enumerate(text):
        draw.text((130, 120 + number * int(size * 1.6)), line, font=font, fill=0)
    return np.asarray(page)


def smooth_noise(rng: np.random.Generator, shape: tuple[int, int], scale: int) -> NDArray[np.float32]:
    """A random field with mean 0 and a magnitude of about 1 that varies over `scale` pixels."""
    small = rng.normal(0, 1, (shape[0] // scale + 3, shape[1] // scale + 3)).astype(np.float32)
    return np.asarray(Image.fromarray(small).resize(shape[::-1], Image.Resampling.BICUBIC))


def degrade(page: Grey, verso: Grey, rng: np.random.Generator, strength: float) -> Grey:
    """Degrade a page; strength 0 is mild, 1 is severe."""
    shape = page.shape
    ink = 1 - page.astype(np.float32) / 255
    fading = 1 - (0.25 + 0.4 * strength) * np.clip(0.5 + 0.6 * smooth_noise(rng, shape, 150), 0, 1)
    back = ndimage.gaussian_filter(1 - verso[: shape[0], ::-1].astype(np.float32) / 255, 2.2)
    through = (0.15 + 0.25 * strength) * np.clip(0.6 + 0.5 * smooth_noise(rng, shape, 300), 0, 1) * back
    paper = 205 + 14 * smooth_noise(rng, shape, 400) + 4 * smooth_noise(rng, shape, 9)
    paper -= (30 + 50 * strength) * np.clip(smooth_noise(rng, shape, 260) - 0.9, 0, 1.2)  # stains
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]] / max(shape)
    angle = rng.uniform(0, 2 * np.pi)
    paper *= 1 - (0.15 + 0.35 * strength) * np.clip(
        np.cos(angle) * (x - 0.4) + np.sin(angle) * (y - 0.4) + 0.3, 0, 1
    )
    darkness = np.maximum(ink * fading * 0.75, through * 0.8)
    result = paper * (1 - darkness) + 35 * darkness
    result = ndimage.gaussian_filter(result, 0.8 + 0.5 * strength) + rng.normal(0, 4 + 7 * strength, shape)
    return np.clip(result, 0, 255).astype(np.uint8)


def otsu(page: Grey) -> Grey:
    """Otsu 1979."""
    counts = np.bincount(page.ravel(), minlength=256).astype(float)
    weight, moment = counts.cumsum(), (counts * np.arange(256)).cumsum()
    between = (moment[-1] * weight / weight[-1] - moment) ** 2 / np.maximum(weight * (weight[-1] - weight), 1)
    return np.where(page <= between.argmax(), 0, 255).astype(np.uint8)


def sauvola(page: Grey, window: int = 75, k: float = 0.2) -> Grey:
    """Sauvola and Pietikainen 2000."""
    values = page.astype(np.float64)
    mean = ndimage.uniform_filter(values, window)
    deviation = np.sqrt(np.maximum(ndimage.uniform_filter(values**2, window) - mean**2, 0))
    return np.where(page <= mean * (1 + k * (deviation / 128 - 1)), 0, 255).astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=12)
    parser.add_argument("--model", default="lite")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()

    from drmamba.inference.binarizer import Binarizer, UntrainedWarning

    warnings.simplefilter("ignore", UntrainedWarning)
    rates: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as temporary, Binarizer.from_pretrained(args.model) as binarizer:
        methods: dict[str, Callable[[Grey], Any]] = {
            "original": lambda page: page,
            "otsu": otsu,
            "sauvola": sauvola,
            "drmamba": lambda page: np.where(binarizer(page).binary, 0, 255).astype(np.uint8),
        }
        for number in range(args.pages):
            rng = np.random.default_rng(1000 + number)
            text = make_text(rng)
            size = int(rng.integers(34, 50))
            page = degrade(
                render(text, size), render(make_text(rng), size), rng, number / max(1, args.pages - 1)
            )
            for name, method in methods.items():
                result = method(page)
                rates.setdefault(name, []).append(error_rate(read(result, Path(temporary)), " ".join(text)))
                if args.keep:
                    args.keep.mkdir(parents=True, exist_ok=True)
                    Image.fromarray(result).save(args.keep / f"{number:02d}-{name}.png")
            print(number, {name: round(100 * rate[-1], 2) for name, rate in rates.items()}, file=sys.stderr)
        trained = binarizer.provenance.trained
    means = {name: round(100 * float(np.mean(rate)), 2) for name, rate in rates.items()}
    print(json.dumps({"pages": args.pages, "trained": trained, "character_errors_percent": means}))


if __name__ == "__main__":
    main()
