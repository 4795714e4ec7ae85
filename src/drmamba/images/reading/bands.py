"""What all pages that are decoded in bands have in common."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from drmamba.errors import ImageError
from drmamba.images.arrays import RGB
from drmamba.images.reading.decoding import decoding
from drmamba.images.reading.raster import RasterPage

BAND_PIXELS = 8_000_000  # pixels; about so many are decoded at once


def band_height(width: int) -> int:
    """Return the rows of a band of a page that can be cut anywhere."""
    return max(1, BAND_PIXELS // width)


class BandedPage(RasterPage):
    """A page of which only one band is held in memory."""

    band_rows: int

    def __init__(self, image: Image.Image, path: Path) -> None:
        super().__init__(image, path)
        self._number, self._band = -1, np.empty((0, self.width, 3), np.uint8)

    def decode_bytes(self) -> int:
        """Return the bytes that one band takes: as stored, as decoded, and as RGB."""
        return 12 * self.width * min(self.height, self.band_rows) + 10_000_000

    def decode(self) -> None:
        """Decode the first band; damage further down raises ImageError when it is reached."""
        if not self._decoded:
            self._decoded = True
            with decoding(self.path):
                self._scale = self._depth_scale()
            self.rows(0, 1)

    def rows(self, top: int, bottom: int) -> RGB:
        """Return the rows, decoding every band that they touch."""
        self.decode()
        parts = []
        for number in range(top // self.band_rows, (bottom - 1) // self.band_rows + 1):
            first = number * self.band_rows
            if number != self._number:
                with decoding(self.path):
                    band = self._checked_band(number)
                    band.info = dict(self.image.info)
                    self._band = np.asarray(self._to_rgb(band))
                self._number = number
            parts.append(self._band[max(0, top - first) : bottom - first])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _checked_band(self, number: int) -> Image.Image:
        first = number * self.band_rows
        size = (self.width, min(self.band_rows, self.height - first))
        band = self._decode_band(number, size)
        if band.size != size:
            raise ImageError(f"{self.path} is damaged: the rows from {first} on are missing")
        return band

    def _parts(self) -> Iterator[Image.Image]:
        """Yield the stored picture band by band."""
        for number in range(-(-self.height // self.band_rows)):
            yield self._checked_band(number)

    def _decode_band(self, number: int, size: tuple[int, int]) -> Image.Image:
        """Decode one band of (width, rows) pixels."""
        raise NotImplementedError
