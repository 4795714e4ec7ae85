"""PNG pages too large to be decoded at once, decoded by rows."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.errors import ImageError
from drmamba.images.reading.bands import BandedPage, band_height

READ_BYTES = 1 << 20  # bytes of compressed PNG data read at a time


class BandedPngPage(BandedPage):
    """A PNG whose rows are decoded in order; going back to earlier rows decodes it from the start."""

    def __init__(self, image: Image.Image, path: Path) -> None:
        super().__init__(image, path)
        self.band_rows = band_height(self.width)
        self._raw_mode = str(image.tile[0].args)  # type: ignore[attr-defined]
        with path.open("rb") as file:
            bits, colour = file.read(26)[24:26]
        channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
        self._step = max(1, bits * channels // 8)  # bytes from a pixel to the next, for the filters
        self._row_bytes = (self.width * bits * channels + 7) // 8
        self._stream: Iterator[NDArray[np.uint8]] = iter(())
        self._next = 0

    def _decode_band(self, number: int, size: tuple[int, int]) -> Image.Image:
        if number < self._next or self._next == 0:
            self._stream, self._next = self._bands(), 0
        for raw in self._stream:
            self._next += 1
            if self._next > number:
                band = Image.frombytes(self.image.mode, size, raw.tobytes(), "raw", self._raw_mode)
                if self.image.palette is not None:
                    band.putpalette(bytes(self.image.palette.palette))
                return band
        raise ImageError(f"{self.path} is damaged: its compressed data ends too early")

    def _bands(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the unfiltered rows band by band, (rows, bytes of a row)."""
        from drmamba.images.reading.png_filters import unfilter

        above = np.zeros(self._row_bytes, np.uint8)
        length = 1 + self._row_bytes  # The number of its filter stands before each row.
        held = bytearray()
        left = self.height
        for piece in _inflated(self.path, self.band_rows * length):
            held += piece
            while left and len(held) >= (count := min(self.band_rows, left)) * length:
                lines = np.frombuffer(bytes(held[: count * length]), np.uint8).reshape(count, length)
                del held[: count * length]
                rows = np.empty((count, self._row_bytes), np.uint8)
                if not unfilter(lines, above, self._step, rows):
                    raise ImageError(f"{self.path} is damaged: one of its rows has an unknown filter")
                above = rows[-1].copy()
                left -= count
                yield rows


def _inflated(path: Path, at_most: int) -> Iterator[bytes]:
    """Yield the decompressed data of a PNG in pieces of at most so many bytes."""
    inflate = zlib.decompressobj()
    with path.open("rb") as file:
        file.seek(8)
        while len(head := file.read(8)) == 8:
            length, kind = struct.unpack(">I4s", head)
            if kind != b"IDAT":
                if kind == b"IEND":
                    return
                file.seek(length + 4, io.SEEK_CUR)
                continue
            check = zlib.crc32(kind)
            while length:
                data = file.read(min(length, READ_BYTES))
                if not data:
                    return
                length -= len(data)
                check = zlib.crc32(data, check)
                while data:
                    yield inflate.decompress(data, at_most)
                    data = inflate.unconsumed_tail
            if file.read(4) != struct.pack(">I", check):
                raise ImageError(f"{path} is damaged: one of its checksums is wrong")
