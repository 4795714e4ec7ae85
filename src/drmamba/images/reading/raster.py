"""Pictures of every kind as upright 8-bit RGB rows, decoded by Pillow and converted band by band.

A decoded page stays in Pillow's own memory (1 to 4 bytes a pixel). Whatever comes after decoding (depth,
polarity, colour profile, transparency, orientation) is applied only to the rows that are asked for, so
that no second copy of a page exists.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, TiffImagePlugin

from drmamba.errors import ImageError, InputError
from drmamba.images.arrays import RGB
from drmamba.images.pillow import pillow_limit_disabled
from drmamba.images.reading.decoding import check_size, decoding
from drmamba.images.reading.extra_formats import extra_format, jxl_size, register_format
from drmamba.images.reading.formats import PILLOW_FORMATS
from drmamba.images.reading.metadata import (
    SIDEWAYS,
    TRANSPOSES,
    UPRIGHT,
    read_color_profile,
    read_dpi,
    read_orientation,
)
from drmamba.images.reading.page_source import ArraySource, PageSource
from drmamba.images.tiff_directory import (
    BITS_PER_SAMPLE,
    COMPRESSION,
    PHOTOMETRIC,
    ROWS_PER_STRIP,
    SUBFILE_TYPE,
    TILE_HEIGHT,
)

MAX_PAGES = 100_000  # pages read from one TIFF; a damaged file may link its pages in a circle
REDUCED_COPY, MASK = 1, 4  # bits of a TIFF's SUBFILE_TYPE that mark images which are not pages
# Pillow reads 16-bit pages whose white is zero in one byte order only; `_depth_scale` inverts both.
TiffImagePlugin.OPEN_INFO.setdefault((b"MM", 0, (1,), 1, (16,), ()), ("I;16B", "I;16B"))
UNNAMED = Path("the picture")  # stands for the file name in errors about a picture in memory


def raster_pages(path: Path, *, max_pixels: int) -> Iterator[RasterPage]:
    """Yield the pages of a picture file; each is valid until the next is asked for."""
    with _opened(path, max_pixels) as image:
        for _ in _frames(image, path):
            with decoding(path):
                check_size(path, image.height, image.width, max_pixels)
                page = RasterPage(image, path)
            yield page


def count_raster(path: Path) -> int:
    """Return how many pages a picture file holds."""
    if extra_format(path):
        return 1
    with _opened(path) as image:
        return sum(1 for _ in _frames(image, path))


def _opened(path: Path, max_pixels: int = sys.maxsize) -> Image.Image:
    """Open a picture file; only JPEG XL is decoded here, so its size is checked before."""
    with decoding(path):
        formats: tuple[str, ...] = PILLOW_FORMATS
        if extra := extra_format(path):
            register_format(extra, path)
            formats = (extra,)
        if extra == "JXL":
            width, height = jxl_size(path)
            check_size(path, height, width, max_pixels)
        with pillow_limit_disabled():
            return Image.open(path, formats=formats)


def _frames(image: Image.Image, path: Path) -> Iterator[int]:
    """Seek to each page and yield its number; reduced copies, masks and previews are left out."""
    if image.format != "TIFF":
        yield 0
        return
    for frame in range(MAX_PAGES):
        with decoding(path):
            try:
                image.seek(frame)
            except EOFError:
                return
            kind = image.tag_v2.get(SUBFILE_TYPE, 0)  # type: ignore[attr-defined]
        if frame == 0 or not kind & (REDUCED_COPY | MASK):
            yield frame


def as_page_source(page: Image.Image | NDArray[Any]) -> PageSource:
    """Return a picture in memory, a PIL image of any mode or an array, as a page of upright rows.

    Arrays are grey (H, W), RGB (H, W, 3) or RGBA (H, W, 4), of 8 or 16 bits or of floats from 0 to 1.
    """
    if isinstance(page, Image.Image):
        if 0 in page.size:
            raise InputError(f"a page has 1 pixel or more; got a picture of {page.width} x {page.height}")
        return RasterPage(page, UNNAMED)
    array = np.asarray(page)
    if array.dtype == np.uint16:
        array = (array.astype(np.uint32) * 255 + 32767) // 65535
    elif array.dtype.kind == "f":
        if not (array.size and array.min() >= 0 and array.max() <= 1):  # NaN fails too
            raise InputError("a page of floats holds values from 0 (black) to 1 (white)")
        array = array * 255 + 0.5
    elif array.dtype != np.uint8:
        raise InputError(f"a page is an array of uint8, uint16 or floats, got {array.dtype}")
    array = array.astype(np.uint8, copy=False)
    if array.ndim == 3 and array.shape[2] == 4 and array.size:
        return RasterPage(Image.fromarray(array), UNNAMED)
    return ArraySource(array)


class RasterPage(PageSource):
    """One page of a picture file; its size is known at once, its pixels are decoded at the first `rows`."""

    def __init__(self, image: Image.Image, path: Path) -> None:
        self.image, self.path = image, path
        self.format = str(image.format)
        self.tags: Any = getattr(image, "tag_v2", {})
        orientation = read_orientation(image)
        dpi = read_dpi(image)
        self.dpi = (dpi[1], dpi[0]) if dpi and orientation in SIDEWAYS else dpi
        # Pillow itself turns TIFF pages upright when it decodes them, and states their upright size.
        self.turned_by_pillow = self.format == "TIFF" and orientation != UPRIGHT
        self.orientation = UPRIGHT if self.format == "TIFF" else orientation
        width, height = image.size
        self.height, self.width = (width, height) if self.orientation in SIDEWAYS else (height, width)
        self._profile = read_color_profile(image)
        self._scale: tuple[float, float] | None = None
        self._decoded = False

    def decode_bytes(self) -> int:
        """Return about how many bytes decoding takes: Pillow's pixels and what the decoder itself holds."""
        pixels = self.height * self.width
        held = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2}.get(self.image.mode, 4)
        bands = len(self.image.getbands())
        if self.format == "JPEG2000":
            held += 4 * bands  # OpenJPEG keeps every component of a tile as 32-bit integers.
        elif self.image.info.get("progressive"):
            held += 2 * bands  # libjpeg keeps all coefficients.
        elif self.format in ("HEIF", "JXL"):
            held += 8 * bands  # libheif keeps planes and a copy, libjxl floats.
        elif self.format == "WEBP" or self.turned_by_pillow:
            held *= 2
        strip = 0
        if (
            self.format == "TIFF" and self.tags.get(COMPRESSION, 1) != 1
        ):  # libtiff holds a strip or tile, decoded.
            rows = min(
                self.tags.get(TILE_HEIGHT) or self.tags.get(ROWS_PER_STRIP) or self.height, self.height
            )
            bits = sum(self.tags.get(BITS_PER_SAMPLE, (1,))) or 1
            strip = self.width * rows * max(bits, 8 * bands) // 8
        return pixels * held + strip + self.path.stat().st_size

    def decode(self) -> None:
        """Decode the page; a damaged file raises ImageError here."""
        if not self._decoded:
            with decoding(self.path):
                if self.format == "TIFF":  # Only this decoder checks the size again.
                    with pillow_limit_disabled():
                        self.image.load()
                else:
                    self.image.load()
                self._scale = self._depth_scale()
            self._decoded = True

    def rows(self, top: int, bottom: int) -> RGB:
        """Return the upright rows from top to bottom as 8-bit RGB."""
        self.decode()
        with decoding(self.path):
            band = self.image.crop(self._stored_box(top, bottom))
            if self.orientation in TRANSPOSES:
                band = band.transpose(TRANSPOSES[self.orientation])
            return np.asarray(self._to_rgb(band))

    def _stored_box(self, top: int, bottom: int) -> tuple[int, int, int, int]:
        """Return the box of the stored picture that holds the upright rows."""
        width, height = self.image.size
        if self.orientation in (3, 4):
            top, bottom = height - bottom, height - top
        if self.orientation in SIDEWAYS:
            if self.orientation in (7, 8):
                top, bottom = width - bottom, width - top
            return top, 0, bottom, height
        return 0, top, width, bottom

    def _depth_scale(self) -> tuple[float, float] | None:
        """Return (offset, factor) from deep grey values to 0 ... 255, or None for 8-bit pictures.

        A TIFF field says whether white is zero; Pillow takes it into account for 8-bit and 1-bit pages only.
        """
        mode = self.image.mode
        white_is_zero = self.format == "TIFF" and self.tags.get(PHOTOMETRIC) == 0
        if mode.startswith("I;16"):
            bits = self.tags.get(BITS_PER_SAMPLE, (16,))[0] if self.format == "TIFF" else 16
            low, high = 0.0, float(2**bits - 1)
        elif mode in ("I", "F"):
            low, high = self._extrema()  # No depth is stated, so the range of values counts.
            if low >= 0:
                low, high = 0.0, next((top for top in (1.0, 255.0, 65535.0) if high <= top), high)
        else:
            return None
        high = high if high > low else low + 1
        return (high, -255 / (high - low)) if white_is_zero else (low, 255 / (high - low))

    def _extrema(self) -> tuple[float, float]:
        """Return the smallest and the largest value; a single value that is not a number is an error."""
        low, high = np.inf, -np.inf
        for part in self._parts():
            values = np.asarray(part)
            smallest, largest = float(values.min()), float(values.max())  # These are NaN if one value is.
            if not np.isfinite([smallest, largest]).all():
                raise ImageError(f"{self.path} holds values that are not numbers; replace them first")
            low, high = min(low, smallest), max(high, largest)
        return low, high

    def _parts(self) -> Iterator[Image.Image]:
        """Yield the stored picture in parts."""
        yield self.image

    def _to_rgb(self, band: Image.Image) -> Image.Image:
        """Convert a part of the stored picture to 8-bit RGB on white paper."""
        if self._scale is not None:
            offset, factor = self._scale
            values = (np.asarray(band).astype(np.float32) - offset) * factor
            return Image.fromarray(np.clip(values + 0.5, 0, 255).astype(np.uint8)).convert("RGB")
        alpha = None
        if band.mode in ("La", "RGBa"):
            band = band.convert("LA" if band.mode == "La" else "RGBA")
        if band.has_transparency_data:
            band = band.convert("RGBA")
            alpha = band.getchannel("A")
            band = band.convert("RGB")
        if self._profile is not None and self._profile.input_mode == band.mode:
            band = self._profile.apply(band)
        elif band.mode != "RGB":
            band = band.convert("RGB")
        if alpha is not None:
            paper = Image.new("RGB", band.size, "white")
            paper.paste(band, mask=alpha)
            band = paper
        return band
