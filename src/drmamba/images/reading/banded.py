"""Pages too large to be decoded at once, decoded a band at a time: TIFF by strips or tiles, PNG by rows.

Pillow cannot decode a part of a page in other formats; their pages need memory for all their pixels.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.errors import ImageError
from drmamba.images.arrays import RGB
from drmamba.images.reading.decoding import decoding
from drmamba.images.reading.metadata import UPRIGHT
from drmamba.images.reading.raster import RasterPage
from drmamba.images.tiff_directory import (
    HEIGHT,
    LONG,
    PLANAR_CONFIGURATION,
    RATIONAL,
    ROWS_PER_STRIP,
    SHORT,
    STRIP_BYTE_COUNTS,
    STRIP_OFFSETS,
    TILE_BYTE_COUNTS,
    TILE_HEIGHT,
    TILE_OFFSETS,
    TILE_WIDTH,
    UNDEFINED,
    WIDTH,
    encode_directory,
)

BAND_PIXELS = 8_000_000  # pixels; about so many are decoded at once
# These TIFF fields say how pixels are coded; a band is a small TIFF with them and a part of the data.
CODING = (258, 259, 262, 266, 277, 284, 292, 293, 317, 320, 332, 338, 339, 347, 512, 529, 530, 531, 532)
SEPARATE_PLANES = 2  # value of PLANAR_CONFIGURATION: each colour is stored by itself
READ_BYTES = 1 << 20  # bytes of compressed PNG data read at a time


def banded_page(page: RasterPage) -> RasterPage:
    """Return the page as one that is decoded in bands, or the page itself if that is impossible."""
    upright = page.orientation == UPRIGHT and not page.turned_by_pillow
    deep_range = page.image.mode in ("I", "F")  # Their scale is known only when all is decoded.
    planes = page.tags.get(PLANAR_CONFIGURATION, 1)
    if upright and not deep_range and page.format == "TIFF" and planes != SEPARATE_PLANES:
        if STRIP_OFFSETS in page.tags or TILE_OFFSETS in page.tags:
            return BandedTiffPage(page.image, page.path)
    elif upright and page.format == "PNG" and not page.image.info.get("interlace"):
        return BandedPngPage(page.image, page.path)
    return page


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
            self._scale = self._depth_scale()
            self.rows(0, 1)

    def rows(self, top: int, bottom: int) -> RGB:
        """Return the rows, decoding every band that they touch."""
        self.decode()
        parts = []
        for number in range(top // self.band_rows, (bottom - 1) // self.band_rows + 1):
            first = number * self.band_rows
            if number != self._number:
                size = (self.width, min(self.band_rows, self.height - first))
                with decoding(self.path):
                    band = self._decode_band(number, size)
                    if band.size != size:
                        raise ImageError(f"{self.path} is damaged: the rows from {first} on are missing")
                    band.info = dict(self.image.info)
                    self._band = np.asarray(self._to_rgb(band))
                self._number = number
            parts.append(self._band[max(0, top - first) : bottom - first])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _decode_band(self, number: int, size: tuple[int, int]) -> Image.Image:
        """Decode one band of (width, rows) pixels."""
        raise NotImplementedError


class BandedTiffPage(BandedPage):
    """A TIFF whose strips or tiles are wrapped, a few at a time, as a small TIFF that Pillow decodes."""

    def __init__(self, image: Image.Image, path: Path) -> None:
        super().__init__(image, path)
        tags = self.tags
        self._tiled = TILE_OFFSETS in tags
        piece = tags[TILE_HEIGHT] if self._tiled else min(tags.get(ROWS_PER_STRIP, self.height), self.height)
        self._across = -(-self.width // tags[TILE_WIDTH]) if self._tiled else 1
        if piece < 1 or self._across < 1:
            raise ImageError(f"{path} declares strips or tiles without rows")
        self._pieces = max(1, BAND_PIXELS // (self.width * piece))  # rows of strips or tiles in a band
        self.band_rows = piece * self._pieces
        names = (TILE_OFFSETS, TILE_BYTE_COUNTS) if self._tiled else (STRIP_OFFSETS, STRIP_BYTE_COUNTS)
        self._offsets, self._counts = (tuple(tags[name]) for name in names)
        wanted = -(-self.height // piece) * self._across
        if min(len(self._offsets), len(self._counts)) < wanted:
            raise ImageError(
                f"{path} is damaged: {wanted} strips or tiles are declared, but fewer are listed"
            )

    def _decode_band(self, number: int, size: tuple[int, int]) -> Image.Image:
        chosen = slice(number * self._pieces * self._across, (number + 1) * self._pieces * self._across)
        if sum(self._counts[chosen]) > self.path.stat().st_size:
            raise ImageError(f"{self.path} is damaged: it declares more bytes than it has")
        with self.path.open("rb") as file:
            pieces = []
            for offset, count in zip(self._offsets[chosen], self._counts[chosen], strict=True):
                file.seek(offset)
                pieces.append(file.read(count))
        band = Image.open(io.BytesIO(self._wrapped(pieces, size)), formats=["TIFF"])
        band.load()
        return band

    def _wrapped(self, pieces: list[bytes], size: tuple[int, int]) -> bytes:
        """Return a TIFF of one band, in the byte order of the file, in which 16-bit values are stored."""
        order: Literal["<", ">"] = "<" if self.tags.prefix == b"II" else ">"
        start = 8 + np.cumsum([0, *map(len, pieces)])
        fields: dict[int, Any] = {tag: self.tags[tag] for tag in CODING if tag in self.tags}
        fields |= {WIDTH: size[0], HEIGHT: size[1]}
        offsets, counts = start[:-1].tolist(), [len(piece) for piece in pieces]
        if self._tiled:
            fields |= {tag: self.tags[tag] for tag in (TILE_WIDTH, TILE_HEIGHT)}
            fields |= {TILE_OFFSETS: offsets, TILE_BYTE_COUNTS: counts}
        else:
            rows = self.band_rows // self._pieces
            fields |= {ROWS_PER_STRIP: rows, STRIP_OFFSETS: offsets, STRIP_BYTE_COUNTS: counts}
        typed = {tag: _typed(value, self.tags.tagtype.get(tag, LONG)) for tag, value in fields.items()}
        block, directory = encode_directory(typed, int(start[-1]), order)
        head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", directory)
        return head + b"".join(pieces) + block


def _typed(value: Any, kind: int) -> tuple[int, list[int]]:
    """Return a field's type and its values as whole numbers, from the value that Pillow has read."""
    if isinstance(value, bytes):
        return UNDEFINED, list(value)  # JPEG tables
    items = list(value) if isinstance(value, tuple | list) else [value]
    if kind == RATIONAL:
        return RATIONAL, [part for item in items for part in (item.numerator, item.denominator)]
    return (SHORT if kind == SHORT else LONG), items


class BandedPngPage(BandedPage):
    """A PNG whose rows are decoded in order; going back to earlier rows decodes it from the start."""

    def __init__(self, image: Image.Image, path: Path) -> None:
        super().__init__(image, path)
        self.band_rows = max(1, BAND_PIXELS // self.width)
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
