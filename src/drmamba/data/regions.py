"""Regions: wide parts of pages that are degraded as a whole, and the crops that are cut from them.

The page context that the network sees must match the crop: stains, light and bleed-through are the same in both. So a
region is degraded once, gives several crops, one in each of as many updates, and is shown reduced beside each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drmamba.config import Convention, DataConfig
from drmamba.data.filters import reduced
from drmamba.data.geometry import Shape
from drmamba.data.page import LabelledPage

BLANK_TRIES = 8  # random places of which the one with the least ink becomes a blank crop


@dataclass(frozen=True)
class Region:
    """A degraded part of a page, and the ink convention of its ground truth."""

    page: LabelledPage
    convention: Convention

    def overview(self, reduction: int, side: int) -> NDArray[np.float32]:
        """The reduced region, (side / reduction) pixels a side; smaller regions are padded with their mean colour."""
        small = reduced(self.page.image, reduction)
        length = -(-side // reduction)  # rounded up, as `reduced` does
        whole = np.empty((length, length, 3), np.float32)
        whole[:] = small.mean((0, 1))
        whole[: small.shape[0], : small.shape[1]] = small
        return whole

    def place(self, rng: np.random.Generator, config: DataConfig, shape: Shape) -> tuple[int, int]:
        """Top and left of a crop with ink or, for the share `blank` of the crops, with as little as possible."""
        height, width = shape
        blank = rng.random() < config.region.blank
        best, fewest = (0, 0), self.page.ink.size
        for _ in range(BLANK_TRIES if blank else config.tries):
            top, left = (
                int(rng.integers(whole - part + 1))
                for whole, part in zip(self.page.shape, shape, strict=True)
            )
            count = int(np.count_nonzero(self.page.ink[top : top + height : 4, left : left + width : 4]))
            if blank:
                best, fewest = ((top, left), count) if count < fewest else (best, fewest)
            else:
                best = top, left
                if count > config.least_ink * height * width / 16:
                    break
        return best

    def crop(self, top: int, left: int, shape: Shape) -> LabelledPage:
        """A rectangle of the region."""
        where = slice(top, top + shape[0]), slice(left, left + shape[1])
        return self.page.part(where)


def region_of(index: int, slots: int, crops: int) -> tuple[int, int]:
    """The slot of crop `index`, and the number of the region within that slot that it is cut from.

    A slot is a position in the batch of an update. Each slot has its own sequence of regions and moves to the next one
    after `crops` updates. Slots do so one after the other, so that no update has to make all regions anew.

    >>> [region_of(index, slots=2, crops=2) for index in range(8)]
    [(0, 0), (1, 0), (0, 0), (1, 1), (0, 1), (1, 1), (0, 1), (1, 2)]
    """
    update, slot = divmod(index, slots)
    return slot, (update + slot * crops // slots) // crops


def in_share(number: int, share: float) -> bool:
    """Whether a slot or an update belongs to the given share of all of them, which is evenly spread.

    >>> [in_share(slot, 0.5) for slot in range(4)], [in_share(slot, 0.75) for slot in range(4)]
    ([False, True, False, True], [False, True, True, True])
    """
    return int((number + 1) * share) > int(number * share)


def crop_shape(update: int, config: DataConfig) -> Shape:
    """Height and width of the crops of an update; oblong ones are wide and high in turn.

    >>> [crop_shape(update, DataConfig(crop=256, oblong=0.5)) for update in range(4)]
    [(256, 256), (128, 512), (256, 256), (512, 128)]
    """
    if not in_share(update, config.oblong):
        return config.crop, config.crop
    short, long = config.crop // 2, config.longest
    return (long, short) if int(update * config.oblong) % 2 else (short, long)
