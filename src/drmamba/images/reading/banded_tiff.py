"""TIFF pages too large to be decoded at once, decoded by strips, tiles or rows, in one plane or several.

A band is a small TIFF with the fields that say how pixels are coded and a part of the data, so that Pillow decodes
every kind of pixel. If single strips or tiles are too large as well, `strip_rows` decompresses their rows.
"""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image

from drmamba.errors import ImageError
from drmamba.images.reading import bands
from drmamba.images.reading.bands import BandedPage, band_height
from drmamba.images.reading.raster import RasterPage
from drmamba.images.reading.strip_rows import LZW, STREAMED, UNCOMPRESSED, StripRows
from drmamba.images.tiff_directory import (
    BITS_PER_SAMPLE,
    COMPRESSION,
    HEIGHT,
    LONG,
    PHOTOMETRIC,
    PLANAR_CONFIGURATION,
    RATIONAL,
    ROWS_PER_STRIP,
    SAMPLES_PER_PIXEL,
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

FILL_ORDER, PREDICTOR = 266, 317
# These TIFF fields say how pixels are coded.
CODING = (258, 259, 262, 266, 277, 284, 292, 293, 317, 320, 332, 338, 339, 347, 512, 529, 530, 531, 532)
SEPARATE_PLANES = 2  # value of PLANAR_CONFIGURATION: each colour is stored by itself
YCBCR = 6  # value of PHOTOMETRIC: rows may share their colours, so that they cannot be told apart
DIFFERENCES = 2  # value of PREDICTOR: each sample is stored as the difference to the one before
LARGE_PIECE = 2  # bands; a strip or tile of more pixels is decompressed row by row


class TiffLayout:
    """Where the strips or tiles of a page are; a page is a grid of them, in each of its planes."""

    def __init__(self, page: RasterPage) -> None:
        tags, path = page.tags, page.path
        self.tiled = TILE_OFFSETS in tags
        self.rows: int = (
            tags[TILE_HEIGHT] if self.tiled else min(tags.get(ROWS_PER_STRIP, page.height), page.height)
        )
        self.width: int = tags[TILE_WIDTH] if self.tiled else page.width
        if self.rows < 1 or self.width < 1:
            raise ImageError(f"{path} declares strips or tiles without rows")
        self.across, self.down = -(-page.width // self.width), -(-page.height // self.rows)
        samples = tags.get(SAMPLES_PER_PIXEL, 1)
        self.separate = tags.get(PLANAR_CONFIGURATION, 1) == SEPARATE_PLANES and samples > 1
        self.planes: int = samples if self.separate else 1
        names = (TILE_OFFSETS, TILE_BYTE_COUNTS) if self.tiled else (STRIP_OFFSETS, STRIP_BYTE_COUNTS)
        offsets, counts = (tuple(tags.get(name, ())) for name in names)
        wanted = self.planes * self.down * self.across
        if min(len(offsets), len(counts)) < wanted:
            raise ImageError(
                f"{path} is damaged: {wanted} strips or tiles are declared, but fewer are listed"
            )
        self.places: list[tuple[int, int]] = list(zip(offsets, counts, strict=False))

    def place(self, plane: int, down: int, across: int) -> tuple[int, int]:
        """Return the offset and the bytes of a strip or tile."""
        offset, count = self.places[(plane * self.down + down) * self.across + across]
        return offset, count


def has_large_pieces(page: RasterPage) -> bool:
    """Return whether strips or tiles are too large to be decoded at once, but can be decompressed row by row."""
    tags, layout = page.tags, TiffLayout(page)
    compression, predictor = tags.get(COMPRESSION, UNCOMPRESSED), tags.get(PREDICTOR, 1)
    bits = set(tags.get(BITS_PER_SAMPLE, (1,)))
    if layout.width * layout.rows <= LARGE_PIECE * bands.BAND_PIXELS or compression not in STREAMED:
        return False
    if tags.get(PHOTOMETRIC) == YCBCR or len(bits) != 1:
        return False
    if compression != UNCOMPRESSED:
        if tags.get(FILL_ORDER, 1) != 1:
            return False
        if predictor != 1 and (predictor != DIFFERENCES or bits - {8, 16, 32}):
            return False
    if compression == LZW:  # Old writers put the lowest bit first, which only libtiff reads.
        with page.path.open("rb") as file:
            file.seek(layout.place(0, 0, 0)[0])
            return file.read(1) == b"\x80"
    return True


class BandedTiffPage(BandedPage):
    """A TIFF whose strips or tiles are wrapped, a few at a time, as a small TIFF that Pillow decodes."""

    def __init__(self, image: Image.Image, path: Path) -> None:
        super().__init__(image, path)
        self.layout = layout = TiffLayout(self)
        # The rows of strips or tiles in a band.
        self._pieces = max(1, bands.BAND_PIXELS // (self.width * layout.rows))
        self.band_rows = layout.rows * self._pieces

    def _decode_band(self, number: int, size: tuple[int, int]) -> Image.Image:
        layout = self.layout
        down = range(number * self._pieces, min((number + 1) * self._pieces, layout.down))
        places = [
            layout.place(plane, row, column)
            for plane in range(layout.planes)
            for row in down
            for column in range(layout.across)
        ]
        if sum(count for _, count in places) > self.path.stat().st_size:
            raise ImageError(f"{self.path} is damaged: it declares more bytes than it has")
        with self.path.open("rb") as file:
            pieces = []
            for offset, count in places:
                file.seek(offset)
                pieces.append(file.read(count))
        grid = {TILE_WIDTH: layout.width, TILE_HEIGHT: layout.rows}
        return self._opened(pieces, size, grid if layout.tiled else {ROWS_PER_STRIP: layout.rows})

    def _opened(self, pieces: list[bytes], size: tuple[int, int], changes: dict[int, Any]) -> Image.Image:
        """Decode a TIFF of one band, in the byte order of the file, in which 16-bit values are stored."""
        order: Literal["<", ">"] = "<" if self.tags.prefix == b"II" else ">"
        start = 8 + np.cumsum([0, *map(len, pieces)])
        fields: dict[int, Any] = {tag: self.tags[tag] for tag in CODING if tag in self.tags}
        fields |= {WIDTH: size[0], HEIGHT: size[1], **changes}
        offsets, counts = start[:-1].tolist(), [len(piece) for piece in pieces]
        tiled = TILE_WIDTH in changes
        fields |= {TILE_OFFSETS if tiled else STRIP_OFFSETS: offsets}
        fields |= {TILE_BYTE_COUNTS if tiled else STRIP_BYTE_COUNTS: counts}
        typed = {tag: _typed(value, self.tags.tagtype.get(tag, LONG)) for tag, value in fields.items()}
        block, directory = encode_directory(typed, int(start[-1]), order)
        head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", directory)
        band = Image.open(io.BytesIO(head + b"".join(pieces) + block), formats=["TIFF"])
        band.load()
        return band


def _typed(value: Any, kind: int) -> tuple[int, list[int]]:
    """Return a field's type and its values as whole numbers, from the value that Pillow has read."""
    if isinstance(value, bytes):
        return UNDEFINED, list(value)  # JPEG tables
    items = list(value) if isinstance(value, tuple | list) else [value]
    if kind == RATIONAL:
        return RATIONAL, [part for item in items for part in (item.numerator, item.denominator)]
    return (SHORT if kind == SHORT else LONG), items


class StreamedTiffPage(BandedTiffPage):
    """A TIFF whose strips or tiles are decompressed row by row; its bands are wrapped as uncompressed TIFFs."""

    def __init__(self, image: Image.Image, path: Path) -> None:
        super().__init__(image, path)
        layout, tags = self.layout, self.tags
        self.band_rows = band_height(self.width)
        self._bits = int(tags.get(BITS_PER_SAMPLE, (1,))[0])
        self._samples = 1 if layout.separate else int(tags.get(SAMPLES_PER_PIXEL, 1))
        self._differences = tags.get(PREDICTOR, 1) == DIFFERENCES and tags.get(COMPRESSION, 1) != UNCOMPRESSED
        row_bytes = self._row_bytes(layout.width)
        compression = tags.get(COMPRESSION, UNCOMPRESSED)
        self._columns = [
            [
                StripRows(
                    path,
                    [layout.place(plane, down, across) for down in range(layout.down)],
                    compression,
                    row_bytes,
                    layout.rows,
                )
                for across in range(layout.across)
            ]
            for plane in range(layout.planes)
        ]

    def _row_bytes(self, width: int) -> int:
        return (width * self._bits * self._samples + 7) // 8

    def _decode_band(self, number: int, size: tuple[int, int]) -> Image.Image:
        top = number * self.band_rows
        planes = []
        for columns in self._columns:
            parts = [self._rows(column, top, top + size[1]) for column in columns]
            rows = np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]
            planes.append(rows[:, : self._row_bytes(size[0])].tobytes())
        changes = {COMPRESSION: UNCOMPRESSED, PREDICTOR: 1, ROWS_PER_STRIP: size[1]}
        return self._opened(planes, size, changes)

    def _rows(self, column: StripRows, top: int, bottom: int) -> np.ndarray[Any, Any]:
        """Return rows of bytes without differences, (rows, bytes)."""
        data = np.frombuffer(column.rows(top, bottom), np.uint8).reshape(bottom - top, -1)
        if not self._differences:
            return data
        order = "<" if self.tags.prefix == b"II" else ">"
        values = data.view(f"{order}u{self._bits // 8}").reshape(bottom - top, -1, self._samples)
        summed = np.cumsum(values, axis=1, dtype=f"u{self._bits // 8}").astype(values.dtype)
        return summed.reshape(bottom - top, -1).view(np.uint8)
