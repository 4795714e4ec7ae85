"""Small data sets for tests, written to disk, and what their ink is compared by."""

from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage

from drmamba.images import Ink


def within(text: Ink, everything: Ink) -> bool:
    """Whether text is part of everything, but for its bolder outline and the faintest of its hairlines."""
    beside = text & ~ndimage.binary_dilation(everything, np.ones((3, 3)), 2)
    return bool(beside.sum() <= 0.02 * text.sum())


def write_pair(root: Path, year: str, name: str, seed: int, size: tuple[int, int] = (60, 80)) -> None:
    """A grey page with a few dark strokes, and its truth."""
    rng = np.random.default_rng(seed)
    ink = np.zeros(size, bool)
    for _ in range(6):
        y, x = rng.integers(0, size[0] - 8), rng.integers(0, size[1] - 20)
        ink[y : y + 3, x : x + 20] = True
    page = np.where(ink, 60, 200) + rng.integers(0, 20, size)
    for folder, values in (("img", page.astype(np.uint8)), ("gt", np.where(ink, 0, 255).astype(np.uint8))):
        (root / year / folder).mkdir(parents=True, exist_ok=True)
        picture = Image.fromarray(values)
        (picture if folder == "img" else picture.convert("1")).save(root / year / folder / f"{name}.png")


def write_years(root: Path, counts: dict[str, int]) -> None:
    """Years of pages, all different."""
    for offset, (year, count) in enumerate(counts.items()):
        for number in range(count):
            write_pair(root, year, f"{number + 1}", seed=1000 * offset + number)
