"""Real pages held in memory, and the crops, versos and sheets that are drawn from them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from drmamba.config import DataConfig
from drmamba.data.dibco import Pair
from drmamba.data.geometry import flipped, hardened, reach, turned, window
from drmamba.data.page import Ink, Page, Picture
from drmamba.data.papers import Papers
from drmamba.errors import DataError
from drmamba.images import read_ink, read_rgb

Pixels = NDArray[np.uint8]


class PagePool:
    """Pages decoded once: about 3 bytes a pixel in colour, 2 in grey. It is a `Stock` for degradations."""

    def __init__(self, pairs: Sequence[Pair], config: DataConfig, papers: Papers) -> None:
        if not pairs:
            raise DataError("there are no pairs to cut crops from")
        self.config, self.papers = config, papers
        with ThreadPoolExecutor(2) as threads:
            self.pages = list(threads.map(decoded, pairs))
        # Large pages are drawn more often, but not so much that they crowd out the small ones.
        weights = np.sqrt([ink.size for _, ink in self.pages])
        self.chances = np.cumsum(weights / weights.sum())

    def page(self, rng: np.random.Generator) -> tuple[Pixels, Pixels]:
        """A random page: its pixels, (H, W) or (H, W, 3), and its ink as 0 and 255."""
        return self.pages[min(int(self.chances.searchsorted(rng.random())), len(self.pages) - 1)]

    def crop(self, rng: np.random.Generator) -> Page:
        """One crop of a random page, turned, scaled and flipped."""
        config = self.config
        image, coverage = self.page(rng)
        zoom = float(np.exp(rng.uniform(*np.log(config.zoom))))
        angle = float(rng.uniform(-1, 1)) * config.rotation if rng.random() < config.rotated else 0.0
        size = reach(config.crop, zoom, angle)
        for _ in range(config.tries):  # look for ink: much of a page is blank
            top, left = _corner(rng, image.shape, size)
            piece = window(coverage, top, left, size)
            if np.count_nonzero(piece[::4, ::4]) > config.least_ink * piece.size / 16:
                break
        flips = rng.random(3) < config.flips
        ink = hardened(flipped(turned(piece, config.crop, zoom, angle), *flips))
        picture = flipped(turned(window(image, top, left, size), config.crop, zoom, angle), *flips)
        picture = np.broadcast_to(picture if picture.ndim == 3 else picture[..., None], (*ink.shape, 3))
        return Page(np.multiply(picture, np.float32(1 / 255), dtype=np.float32), ink)

    def verso(self, rng: np.random.Generator, shape: tuple[int, int]) -> Ink:
        """Ink of a random page as it is, or now and then turned on its side or shown from the front."""
        _, coverage = self.page(rng)
        side = max(shape)
        piece = window(coverage, *_corner(rng, coverage.shape, side), side)
        lot = rng.random()
        piece = piece.T if lot < 0.1 else piece[:, ::-1] if lot < 0.2 else piece
        return piece[: shape[0], : shape[1]] > 0

    def sheet(self, rng: np.random.Generator, shape: tuple[int, int]) -> Picture:
        """A blank sheet."""
        return self.papers.sheet(rng, shape)


def _corner(rng: np.random.Generator, shape: tuple[int, ...], size: int) -> tuple[int, int]:
    """Top and left of a random window; one larger than the page lies around it."""
    top, left = (
        int(rng.integers(min(0, room), max(0, room) + 1)) for room in (shape[0] - size, shape[1] - size)
    )
    return top, left


def decoded(pair: Pair) -> tuple[Pixels, Pixels]:
    """The page's pixels, (H, W) where it is grey to save memory, and its ink as 0 and 255."""
    image, ink = read_rgb(pair.image), read_ink(pair.truth)
    if image.shape[:2] != ink.shape:
        sizes = " and ".join(f"{w} x {h}" for h, w in (image.shape[:2], ink.shape))
        raise DataError(f"{pair.image} and {pair.truth} differ in size: {sizes} pixels")
    if not (image != image[..., :1]).any():
        image = np.ascontiguousarray(image[..., 0])
    return image, ink.astype(np.uint8) * np.uint8(255)
