"""Black-and-white pages to files: 1-bit PNG and CCITT G4 TIFF, ink black, resolution kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.config import ReadingConfig
from drmamba.errors import ImageError
from drmamba.files import write_atomic
from drmamba.images.fax import encode_fax, tiff
from drmamba.images.png import png
from drmamba.images.raster import own_size_check
from drmamba.images.rows import DPI, Ink

WRITABLE = (".png", ".tif", ".tiff", ".pdf")
RECORD = "drmamba"  # PNG text key
STRIP_PIXELS = 64_000_000


def write_ink(path: str | Path, ink: Ink, *, dpi: DPI | float | None = None, record: str = "") -> None:
    """Write one page as a 1-bit PNG, TIFF or PDF, by the name's ending; ink (True) becomes black."""
    write_bitmap(path, Bitmap.pack(ink, dpi), record=record)


def write_bitmap(path: str | Path, bitmap: Bitmap, *, record: str = "") -> None:
    """Write one packed page by the name's ending."""
    write_atomic(path, encode([bitmap], Path(path).suffix, record=record))


class Bitmap:
    """A black-and-white page at one bit a pixel: (H, ceil(W / 8)) bytes, a set bit is ink."""

    def __init__(self, height: int, width: int, dpi: DPI | float | None = None) -> None:
        self.height, self.width = height, width
        self.dpi = (float(dpi), float(dpi)) if isinstance(dpi, int | float) else dpi
        self.bits: NDArray[np.uint8] = np.zeros((height, (width + 7) // 8), np.uint8)

    @classmethod
    def pack(cls, ink: Ink, dpi: DPI | float | None = None) -> Bitmap:
        """From a boolean page."""
        if ink.dtype != np.bool_ or ink.ndim != 2 or 0 in ink.shape:
            raise ImageError(f"ink must be a boolean page (H, W), got {ink.dtype} of shape {ink.shape}")
        bitmap = cls(ink.shape[0], ink.shape[1], dpi)
        bitmap.put(0, ink)
        return bitmap

    def put(self, top: int, ink: Ink) -> None:
        """Set some rows."""
        self.bits[top : top + len(ink)] = np.packbits(ink, axis=1)

    def unpack(self) -> Ink:
        """The page as booleans."""
        return np.unpackbits(self.bits, axis=1, count=self.width).astype(np.bool_)

    def image(self) -> Image.Image:
        """As a Pillow picture of mode "1", ink black."""
        size = (self.width, self.height)
        return Image.frombuffer("1", size, self.bits.tobytes(), "raw", "1;I", 0, 1)


@dataclass(frozen=True)
class CodedPage:
    """A page as CCITT G4 data: a few kilobytes that wait for their container."""

    strips: list[tuple[int, bytes]]  # rows and data; one unless the page is huge
    width: int
    height: int
    dpi: DPI | None


def code(bitmap: Bitmap) -> CodedPage:
    """Compress a page."""
    rows = max(1, STRIP_PIXELS // bitmap.width)  # Pillow holds a byte for every pixel it codes
    strips = []
    for top in range(0, bitmap.height, rows):
        part = bitmap.bits[top : top + rows]
        strips.append((len(part), encode_fax(part.tobytes(), bitmap.width, len(part))))
    return CodedPage(strips, bitmap.width, bitmap.height, bitmap.dpi)


def container(pages: Iterable[CodedPage], suffix: str, record: str = "") -> bytes:
    """The bytes of a TIFF or PDF of coded pages and a record of how they were made."""
    if suffix.lower() != ".pdf":
        return tiff([(page.strips, page.width, page.height, page.dpi) for page in pages], record)
    from drmamba.images.pdf import encode_pdf

    default = (float(ReadingConfig().dpi),) * 2  # a PDF page has a size on paper, known or not
    return encode_pdf([(page.strips, page.width, page.height, page.dpi or default) for page in pages], record)


def encode(pages: Iterable[Bitmap], suffix: str, *, record: str = "") -> bytes:
    """The bytes of a file that holds the pages (PNG: exactly one) and a record of how they were made."""
    suffix = suffix.lower()
    if suffix not in WRITABLE:
        raise ImageError(f"pages are written as {', '.join(WRITABLE)}, not as {suffix!r}")
    if suffix == ".png":
        (page,) = pages
        return png(~page.bits, page.width, 1, page.dpi, record, RECORD)
    return container([code(page) for page in pages], suffix, record)


def read_record(path: Path) -> str:
    """The record in a file written here; empty where there is none or the file is not one of ours."""
    try:
        if path.suffix.lower() == ".pdf":
            from drmamba.images.pdf import read_pdf_record

            return read_pdf_record(path)
        with own_size_check(), Image.open(path, formats=["PNG", "TIFF"]) as image:
            if image.format == "PNG":
                return str(image.info.get(RECORD, ""))
            tags: Any = image.tag_v2  # type: ignore[attr-defined]
            return str(tags.get(270, "")) if tags.get(305) == RECORD else ""
    except Exception:  # a foreign or damaged file, of which nothing is expected
        return ""


def encode_grey(grey: NDArray[np.uint8], dpi: DPI | None, record: str = "") -> bytes:
    """An 8-bit PNG of grey values as they are."""
    return png(grey, grey.shape[1], 8, dpi, record, RECORD)
