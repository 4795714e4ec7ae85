"""Pages whose rows are read when they are needed, so that no page must be held as a whole."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from drmamba.errors import InputError
from drmamba.images.arrays import DPI, RGB


class PageSource(ABC):
    """An upright page of known size, whose 8-bit RGB rows are read on demand and in any order."""

    height: int
    width: int
    dpi: DPI | None = None

    @abstractmethod
    def rows(self, top: int, bottom: int) -> RGB:
        """Return the rows from top to bottom (exclusive), (bottom - top, width, 3)."""

    def read(self, step: int = 256) -> RGB:
        """Return the whole page in one array, read `step` rows at a time."""
        page = np.empty((self.height, self.width, 3), np.uint8)
        for top in range(0, self.height, step):
            page[top : top + step] = self.rows(top, min(top + step, self.height))
        return page


class ArraySource(PageSource):
    """A page that is an array already: grey or RGB, 8 bits."""

    def __init__(self, array: NDArray[np.uint8], dpi: DPI | None = None) -> None:
        accepted = array.dtype == np.uint8 and (array.ndim == 2 or (array.ndim == 3 and array.shape[2] == 3))
        if not accepted or 0 in array.shape:
            shape = f"{array.dtype} array of shape {array.shape}"
            raise InputError(f"a page is a uint8 array (H, W) or (H, W, 3), 1 pixel or more; got a {shape}")
        self.array, self.dpi = array, dpi
        self.height, self.width = array.shape[:2]

    def rows(self, top: int, bottom: int) -> RGB:
        """Return a view, or a copy with three channels if the page is grey."""
        band = self.array[top:bottom]
        return band if band.ndim == 3 else np.repeat(band[:, :, None], 3, axis=2)
