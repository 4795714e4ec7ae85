"""CCITT Group 4 coding, which archives use for black-and-white pages; TIFF and PDF can both contain it."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

from PIL import Image

from drmamba.images.arrays import DPI
from drmamba.images.pillow import pillow_limit_disabled
from drmamba.images.tiff_directory import STRIP_BYTE_COUNTS, STRIP_OFFSETS
from drmamba.images.writing.bitmap import Bitmap

STRIP_PIXELS = 64_000_000  # pixels coded at once, because Pillow holds a byte for each of them


@dataclass(frozen=True)
class GreyLayer:
    """A picture in grey below the ink of a page, as a JPEG file; only PDF pages can have it."""

    box: tuple[int, int, int, int]  # left, top, right and bottom in pixels of the page
    width: int  # pixels of the JPEG file
    height: int
    jpeg: bytes


@dataclass(frozen=True)
class G4Page:
    """A page as CCITT G4 data: a few kilobytes that can wait in memory until the document is complete."""

    strips: list[tuple[int, bytes]]  # number of rows and data of each strip; only huge pages have several
    width: int
    height: int
    dpi: DPI | None
    layers: tuple[GreyLayer, ...] = ()


def encode_g4(bitmap: Bitmap, layers: tuple[GreyLayer, ...] = ()) -> G4Page:
    """Compress a page; the layers are pictures below its ink."""
    rows = max(1, STRIP_PIXELS // bitmap.width)
    strips = []
    for top in range(0, bitmap.height, rows):
        part = bitmap.bits[top : top + rows]
        strips.append((len(part), _encode_strip(part.tobytes(), bitmap.width, len(part))))
    return G4Page(strips, bitmap.width, bitmap.height, bitmap.dpi, layers)


def _encode_strip(bits: bytes, width: int, height: int) -> bytes:
    """Return the bare G4 data of packed rows, in which a set bit is black."""
    buffer = io.BytesIO()
    image = Image.frombuffer("1", (width, height), bits, "raw", "1", 0, 1)
    image.save(buffer, "TIFF", compression="group4", strip_size=len(bits))  # one strip
    with pillow_limit_disabled(), Image.open(buffer, formats=["TIFF"]) as coded:
        tags: Any = coded.tag_v2  # type: ignore[attr-defined]
        (offset,), (count,) = tags[STRIP_OFFSETS], tags[STRIP_BYTE_COUNTS]
    return buffer.getbuffer()[offset : offset + count].tobytes()
