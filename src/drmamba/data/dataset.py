"""Training crops: item i depends on the seed and on i alone, so a run resumes exactly at any index."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from drmamba.config import DataConfig, LossConfig
from drmamba.data.dibco import Pair
from drmamba.data.geometry import flipped, hardened, reach, turned, window
from drmamba.data.page import Page
from drmamba.data.targets import targets
from drmamba.errors import DataError
from drmamba.images import read_ink, read_rgb


class CropDataset(Dataset[dict[str, Tensor]]):
    """Random degraded crops of real pages, without end or `length` of them; pages are decoded once.

    Items: image (3, S, S) in [0, 1] and the targets of `data.targets`, each (S, S), all float32.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        config: DataConfig,
        loss: LossConfig,
        *,
        seed: int = 0,
        length: int = 1 << 40,
    ) -> None:
        if not pairs:
            raise DataError("there are no pairs to cut crops from")
        self.config, self.loss, self.seed, self.length = config, loss, seed, length
        with ThreadPoolExecutor(2) as pool:
            self.pages = list(pool.map(decoded, pairs))
        # Large pages are drawn more often, but not so much that they crowd out the small ones.
        weights = np.sqrt([ink.size for _, ink in self.pages])
        self.chances = np.cumsum(weights / weights.sum())

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        if not 0 <= index < self.length:
            raise IndexError(index)
        rng = np.random.default_rng((self.seed, index))
        page = self.crop(rng)
        item = {name: torch.from_numpy(field) for name, field in targets(page.ink, self.loss).items()}
        item["image"] = torch.from_numpy(np.ascontiguousarray(page.image.transpose(2, 0, 1)))
        return item

    def crop(self, rng: np.random.Generator) -> Page:
        """One crop of a random page, turned, scaled and flipped."""
        config = self.config
        image, coverage = self.pages[min(int(self.chances.searchsorted(rng.random())), len(self.pages) - 1)]
        zoom = float(np.exp(rng.uniform(*np.log(config.zoom))))
        angle = float(rng.uniform(-1, 1)) * config.rotation if rng.random() < 0.5 else 0.0
        size = reach(config.crop, zoom, angle)
        for _ in range(config.tries):  # look for ink: most of a page is blank
            top = int(rng.integers(min(0, image.shape[0] - size), max(0, image.shape[0] - size) + 1))
            left = int(rng.integers(min(0, image.shape[1] - size), max(0, image.shape[1] - size) + 1))
            piece = window(coverage, top, left, size)
            if np.count_nonzero(piece[::4, ::4]) > config.least_ink * piece.size / 16:
                break
        flips = rng.random(3) < (0.5, 0.5, 0.0)
        ink = hardened(flipped(turned(piece, config.crop, zoom, angle), *flips))
        picture = flipped(turned(window(image, top, left, size), config.crop, zoom, angle), *flips)
        picture = np.broadcast_to(picture if picture.ndim == 3 else picture[..., None], (*ink.shape, 3))
        return Page(picture.astype(np.float32) / np.float32(255), ink)


def decoded(pair: Pair) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The page's pixels, (H, W) where it is grey to save memory, and its ink as 0 and 255."""
    image, ink = read_rgb(pair.image), read_ink(pair.truth)
    if image.shape[:2] != ink.shape:
        sizes = " and ".join(f"{w} x {h}" for h, w in (image.shape[:2], ink.shape))
        raise DataError(f"{pair.image} and {pair.truth} differ in size: {sizes} pixels")
    if not (image != image[..., :1]).any():
        image = np.ascontiguousarray(image[..., 0])
    return image, ink.astype(np.uint8) * np.uint8(255)
