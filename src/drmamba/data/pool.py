"""Real pages held in memory, and the crops, versos and blank sheets drawn from them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from drmamba.config import Convention, DataConfig
from drmamba.data.degrade.cleared import bare
from drmamba.data.dibco import Pair
from drmamba.data.geometry import Shape, flipped, hardened, reach, rotated, window
from drmamba.data.page import LabelledPage, Picture
from drmamba.data.paper_textures import PaperTextures
from drmamba.errors import DataError
from drmamba.images import Ink, read_ink, read_rgb

Pixels = NDArray[np.uint8]


class StoredPage(NamedTuple):
    """A decoded page and its ground truth."""

    image: Pixels  # (H, W) or (H, W, 3)
    ink: Pixels  # (H, W), 0 and 255
    convention: Convention  # the definition of ink that the ground truth follows


class PagePool:
    """Pages that are decoded once: 4 bytes a pixel in colour, 2 in grey. It is a `MaterialSource`."""

    def __init__(self, pairs: Sequence[Pair], config: DataConfig, papers: PaperTextures) -> None:
        if not pairs:
            raise DataError("there are no pairs to cut crops from")
        self.config, self.papers = config, papers
        with ThreadPoolExecutor(2) as threads:
            self.pages = list(threads.map(decoded, pairs))
        # Large pages are drawn more often, in proportion to their side length and not to their area.
        weights = np.sqrt([stored.ink.size for stored in self.pages])
        self.cumulative = np.cumsum(weights / weights.sum())

    def page(self, rng: np.random.Generator) -> StoredPage:
        """A random page."""
        return self.pages[min(int(self.cumulative.searchsorted(rng.random())), len(self.pages) - 1)]

    def crop(self, rng: np.random.Generator, shape: Shape) -> tuple[LabelledPage, Convention]:
        """One crop of a random page, rotated, scaled and flipped."""
        return self._piece(rng, self.page(rng), shape, shape)

    def region(self, rng: np.random.Generator) -> tuple[LabelledPage, Convention]:
        """A wide part of a random page: as much of it as fits into a region, but at least a crop."""
        least, most = self.config.longest, self.config.region.side
        return self._piece(rng, self.page(rng), (least, least), (most, most))

    def _piece(
        self, rng: np.random.Generator, stored: StoredPage, least: Shape, most: Shape
    ) -> tuple[LabelledPage, Convention]:
        config = self.config
        zoom_range = config.wide_zoom if config.wide and rng.random() < config.wide else config.zoom
        zoom = float(np.exp(rng.uniform(*np.log(zoom_range))))
        angle = float(rng.uniform(-1, 1)) * config.rotation if rng.random() < config.rotated else 0.0
        height, width = (
            min(max(round(length * zoom), low), high)
            for length, low, high in zip(stored.ink.shape, least, most, strict=True)
        )
        size = reach((height, width), zoom, angle)
        for _ in range(config.tries):  # look for ink, because much of a page is blank
            top, left = _corner(rng, stored.ink.shape, size)
            piece = window(stored.ink, top, left, size)
            if np.count_nonzero(piece[::4, ::4]) > config.least_ink * piece.size / 16:
                break
        flips = rng.random(3) < config.flips
        ink = hardened(flipped(rotated(piece, (height, width), zoom, angle), *flips))
        picture = rotated(window(stored.image, top, left, size), (height, width), zoom, angle)
        picture = flipped(picture, *flips)
        picture = np.broadcast_to(picture if picture.ndim == 3 else picture[..., None], (*ink.shape, 3))
        return LabelledPage(
            np.multiply(picture, np.float32(1 / 255), dtype=np.float32), ink
        ), stored.convention

    def verso(self, rng: np.random.Generator, shape: tuple[int, int], *, fine: bool = True) -> Ink:  # noqa: ARG002
        """The ink of a random page, always fine; one in ten is transposed, and one in ten is mirrored."""
        coverage = self.page(rng).ink
        side = max(shape)
        piece = window(coverage, *_corner(rng, coverage.shape, (side, side)), (side, side))
        draw = rng.random()
        piece = piece.T if draw < 0.1 else piece[:, ::-1] if draw < 0.2 else piece
        return piece[: shape[0], : shape[1]] > 0

    def sheet(self, rng: np.random.Generator, shape: tuple[int, int]) -> Picture:
        """A blank sheet, or another page without its ink."""
        if rng.random() >= self.config.bared:
            return self.papers.sheet(rng, shape)
        stored = self.page(rng)
        top, left = _corner(rng, stored.ink.shape, shape)
        image, ink = (window(pixels, top, left, shape) for pixels in (stored.image, stored.ink))
        picture = np.broadcast_to(image if image.ndim == 3 else image[..., None], (*shape, 3))
        return bare(LabelledPage(np.multiply(picture, np.float32(1 / 255), dtype=np.float32), ink > 0), rng)


def _corner(rng: np.random.Generator, page: tuple[int, ...], shape: tuple[int, int]) -> tuple[int, int]:
    """Top and left of a random window; a window larger than the page encloses it."""
    top, left = (
        int(rng.integers(min(0, room), max(0, room) + 1)) for room in (page[0] - shape[0], page[1] - shape[1])
    )
    return top, left


def decoded(pair: Pair) -> StoredPage:
    """Read a pair; a grey picture is stored as (H, W) to save memory."""
    image, ink = read_rgb(pair.image), read_ink(pair.truth)
    if image.shape[:2] != ink.shape:
        sizes = " and ".join(f"{w} x {h}" for h, w in (image.shape[:2], ink.shape))
        raise DataError(f"{pair.image} and {pair.truth} differ in size: {sizes} pixels")
    if not (image != image[..., :1]).any():
        image = np.ascontiguousarray(image[..., 0])
    return StoredPage(image, ink.astype(np.uint8) * np.uint8(255), pair.convention)
