"""Wide pieces of pages that are degraded as a whole, and the crops that are cut from them.

What the network is told of a crop's page must fit the crop: stains, light and what shows through are the same in both.
So a region is made once, gives several crops, one in each of as many updates, and is shown reduced beside them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drmamba.config import Convention, DataConfig
from drmamba.data.fields import reduced
from drmamba.data.page import Page

BLANK_TRIES = 8  # places looked at for a crop with as little ink as possible


@dataclass(frozen=True)
class Region:
    """A degraded piece of a page, and by which convention its ink counts."""

    page: Page
    convention: Convention

    def overview(self, reduction: int, side: int) -> NDArray[np.float32]:
        """The region reduced, (side / reduction) pixels high and wide; what it lacks is filled with its mean colour."""
        small = reduced(self.page.image, reduction)
        length = -(-side // reduction)  # as `reduced` counts: a block that is cut short is one more
        whole = np.empty((length, length, 3), np.float32)
        whole[:] = small.mean((0, 1))
        whole[: small.shape[0], : small.shape[1]] = small
        return whole

    def place(self, rng: np.random.Generator, config: DataConfig) -> tuple[int, int]:
        """Top and left of a crop: where there is ink, or, for a share of the crops, where there is least."""
        blank = rng.random() < config.region.blank
        best, least = (0, 0), self.page.ink.size
        for _ in range(BLANK_TRIES if blank else config.tries):
            top, left = (int(rng.integers(length - config.crop + 1)) for length in self.page.shape)
            count = int(
                np.count_nonzero(self.page.ink[top : top + config.crop : 4, left : left + config.crop : 4])
            )
            if blank:
                best, least = ((top, left), count) if count < least else (best, least)
            else:
                best = top, left
                if count > config.least_ink * config.crop**2 / 16:
                    break
        return best

    def crop(self, top: int, left: int, size: int) -> Page:
        """A square of the region."""
        where = slice(top, top + size), slice(left, left + size)
        return Page(self.page.image[where], self.page.ink[where])


def region_of(index: int, slots: int, crops: int) -> tuple[int, int]:
    """The slot and the number in it of the region that crop `index` is cut from.

    Every place in an update, a slot, has its own row of regions and changes to the next after `crops` updates; slots
    change one after the other, so that an update does not wait for new regions everywhere.

    >>> [region_of(index, slots=2, crops=2) for index in range(8)]
    [(0, 0), (1, 0), (0, 0), (1, 1), (0, 1), (1, 1), (0, 1), (1, 2)]
    """
    update, slot = divmod(index, slots)
    return slot, (update + slot * crops // slots) // crops
