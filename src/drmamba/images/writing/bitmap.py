"""A black-and-white page in memory at one bit a pixel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.errors import ImageError
from drmamba.images.arrays import DPI, Ink

BITS_SET = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(
    1, dtype=np.uint8
)  # of each byte


class Bitmap:
    """A page of (H, ceil(W / 8)) bytes, in which a set bit is ink."""

    def __init__(self, height: int, width: int, dpi: DPI | float | None = None) -> None:
        self.height, self.width = height, width
        self.dpi = (float(dpi), float(dpi)) if isinstance(dpi, int | float) else dpi
        self.bits: NDArray[np.uint8] = np.zeros((height, (width + 7) // 8), np.uint8)

    @classmethod
    def pack(cls, ink: Ink, dpi: DPI | float | None = None) -> Bitmap:
        """Make a bitmap of a boolean page."""
        if ink.dtype != np.bool_ or ink.ndim != 2 or 0 in ink.shape:
            raise ImageError(f"ink must be a boolean page (H, W), got {ink.dtype} of shape {ink.shape}")
        bitmap = cls(ink.shape[0], ink.shape[1], dpi)
        bitmap.put(0, ink)
        return bitmap

    def put(self, top: int, ink: Ink) -> None:
        """Set the rows from `top` on to a part of a boolean page."""
        self.bits[top : top + len(ink)] = np.packbits(ink, axis=1)

    def unpack(self) -> Ink:
        """Return the page as booleans."""
        return np.unpackbits(self.bits, axis=1, count=self.width).astype(np.bool_)

    def count(self) -> int:
        """Return how many pixels are ink."""
        return int(BITS_SET[self.bits].sum(dtype=np.int64))

    def image(self) -> Image.Image:
        """Return the page as a Pillow image of mode "1" with black ink."""
        size = (self.width, self.height)
        return Image.frombuffer("1", size, self.bits.tobytes(), "raw", "1;I", 0, 1)
