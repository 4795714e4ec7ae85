"""Pages as rows that are asked for when needed, so that no page must be held as a whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drmamba.errors import ImageError, InputError

RGB = NDArray[np.uint8]  # (rows, width, 3)
Ink = NDArray[np.bool_]  # (rows, width), True = ink
DPI = tuple[float, float]  # horizontal, vertical


class Rows(ABC):
    """An upright page: its size is known, its 8-bit RGB rows are read on demand, in any order."""

    height: int
    width: int
    dpi: DPI | None = None

    @abstractmethod
    def rows(self, top: int, bottom: int) -> RGB:
        """Rows top to bottom (exclusive), (bottom - top, width, 3)."""

    def read(self, step: int = 256) -> RGB:
        """The whole page in one array."""
        page = np.empty((self.height, self.width, 3), np.uint8)
        for top in range(0, self.height, step):
            page[top : top + step] = self.rows(top, min(top + step, self.height))
        return page


class ArrayRows(Rows):
    """A page that is already an array: grey or RGB, 8 bits."""

    def __init__(self, array: NDArray[np.uint8], dpi: DPI | None = None) -> None:
        wanted = array.dtype == np.uint8 and (array.ndim == 2 or (array.ndim == 3 and array.shape[2] == 3))
        if not wanted or 0 in array.shape:
            shape = f"{array.dtype} array of shape {array.shape}"
            raise InputError(f"a page is a uint8 array (H, W) or (H, W, 3), 1 pixel or more; got a {shape}")
        self.array, self.dpi = array, dpi
        self.height, self.width = array.shape[:2]

    def rows(self, top: int, bottom: int) -> RGB:
        """A view, or a copy with three channels if the page is grey."""
        band = self.array[top:bottom]
        return band if band.ndim == 3 else np.repeat(band[:, :, None], 3, axis=2)


def check_size(path: Path, height: int, width: int, max_pixels: int) -> None:
    """Refuse a page by its declared size, before anything is decoded."""
    if height < 1 or width < 1:
        raise ImageError(f"{path} declares a page of {width} x {height} pixels")
    if height * width > max_pixels:
        size = f"{width} x {height} = {height * width / 1e6:,.0f} megapixels"
        raise ImageError(
            f"{path} declares {size}, over the limit of {max_pixels / 1e6:,.0f}; see --max-pixels"
        )
