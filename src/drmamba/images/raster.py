"""Pictures of every kind as upright 8-bit RGB rows, decoded by Pillow and converted band by band.

A decoded page stays in Pillow's own memory (1 to 4 bytes a pixel); whatever comes after decoding (depth,
polarity, colour profile, transparency, orientation) is applied to the few rows asked for, so that no
second copy of a page exists.
"""

from __future__ import annotations

import contextlib
import io
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageCms, UnidentifiedImageError

from drmamba.errors import ImageError, InputError
from drmamba.images.rows import RGB, ArrayRows, Rows, check_size

FORMATS = ("JPEG", "PNG", "TIFF", "JPEG2000", "WEBP", "BMP", "DIB")  # never EPS: it starts programs
SUFFIXES = (".jpg", ".jpeg", ".png", ".tif", ".tiff", ".jp2", ".j2k", ".jpx", ".webp", ".bmp")

MAX_PAGES = 100_000
REDUCED, MASK = 1, 4  # kinds of TIFF pages that are none
ORIENTATION, PHOTOMETRIC, BITS, SUBFILE = 274, 262, 258, 254  # TIFF and EXIF tags
UNDO = {  # EXIF orientation -> what makes the page upright
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
SIDEWAYS = (5, 6, 7, 8)

_bomb_lock = threading.Lock()


def raster_pages(path: Path, *, max_pixels: int) -> Iterator[RasterPage]:
    """The pages of a picture file, one after the other; each is valid until the next is asked for."""
    with _opened(path) as image:
        for _ in _frames(image, path):
            with decoding(path):
                check_size(path, image.height, image.width, max_pixels)
                page = RasterPage(image, path)
            yield page


def count_raster(path: Path) -> int:
    """How many pages a picture file holds."""
    with _opened(path) as image:
        return sum(1 for _ in _frames(image, path))


def _opened(path: Path) -> Image.Image:
    with decoding(path), own_size_check():
        return Image.open(path, formats=FORMATS)


def _frames(image: Image.Image, path: Path) -> Iterator[int]:
    """Move from page to page. Reduced copies and masks in a TIFF, and previews elsewhere, are no pages."""
    if image.format != "TIFF":
        yield 0
        return
    for frame in range(MAX_PAGES):
        with decoding(path):
            try:
                image.seek(frame)
            except EOFError:
                return
            kind = image.tag_v2.get(SUBFILE, 0)  # type: ignore[attr-defined]
        if frame == 0 or not kind & (REDUCED | MASK):
            yield frame


def as_rows(page: Image.Image | NDArray[Any]) -> Rows:
    """A picture in memory as upright rows: a PIL image of any mode, or an array.

    Arrays are grey (H, W), RGB (H, W, 3) or RGBA (H, W, 4), of 8 or 16 bits or of floats from 0 to 1.
    """
    if isinstance(page, Image.Image):
        return RasterPage(page, Path("the picture"))
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
        return RasterPage(Image.fromarray(array), Path("the picture"))
    return ArrayRows(array)


class RasterPage(Rows):
    """One page in a picture file: sizes are known at once, pixels are decoded at the first `rows`."""

    def __init__(self, image: Image.Image, path: Path) -> None:
        self.image, self.path = image, path
        self.format = str(image.format)
        self.tags: Any = getattr(image, "tag_v2", {})
        orientation = _orientation(image)
        dpi = _dpi(image)
        self.dpi = (dpi[1], dpi[0]) if dpi and orientation in SIDEWAYS else dpi
        # Pillow turns TIFF pages upright itself, when it decodes them; their size is already the upright one.
        self.turned_by_pillow = self.format == "TIFF" and orientation != 1
        self.orientation = 1 if self.format == "TIFF" else orientation
        width, height = image.size
        self.height, self.width = (width, height) if self.orientation in SIDEWAYS else (height, width)
        self._profile = _profile(image)
        self._scale: tuple[float, float] | None = None
        self._decoded = False

    def decode_bytes(self) -> int:
        """How much memory decoding takes, about: pixels in Pillow plus what the decoder itself holds."""
        pixels = self.height * self.width
        held = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16B": 2}.get(self.image.mode, 4)
        bands = len(self.image.getbands())
        if self.format == "JPEG2000":
            held += 4 * bands  # OpenJPEG keeps every component of a tile as 32-bit integers
        elif self.image.info.get("progressive"):
            held += 2 * bands  # libjpeg keeps all coefficients
        elif self.format == "WEBP" or self.turned_by_pillow:
            held *= 2
        return pixels * held + self.path.stat().st_size

    def decode(self) -> None:
        """Decode now; a damaged file raises ImageError here."""
        if not self._decoded:
            with decoding(self.path):
                if self.format == "TIFF":  # the one decoder that checks the size again
                    with own_size_check():
                        self.image.load()
                else:
                    self.image.load()
                self._scale = self._depth_scale()
            self._decoded = True

    def rows(self, top: int, bottom: int) -> RGB:
        """Upright rows top to bottom as 8-bit RGB."""
        self.decode()
        with decoding(self.path):
            band = self.image.crop(self._stored_box(top, bottom))
            if self.orientation in UNDO:
                band = band.transpose(UNDO[self.orientation])
            return np.asarray(self._to_rgb(band))

    def _stored_box(self, top: int, bottom: int) -> tuple[int, int, int, int]:
        """Where the upright rows lie in the picture as stored."""
        width, height = self.image.size
        if self.orientation in (3, 4):
            top, bottom = height - bottom, height - top
        if self.orientation in SIDEWAYS:
            if self.orientation in (7, 8):
                top, bottom = width - bottom, width - top
            return top, 0, bottom, height
        return 0, top, width, bottom

    def _depth_scale(self) -> tuple[float, float] | None:
        """(offset, factor) from deep grey values to 0 ... 255; None for 8-bit pictures.

        TIFF says in a tag when white is the small value; Pillow applies it to 8-bit and 1-bit pages only.
        """
        mode = self.image.mode
        white_is_zero = self.format == "TIFF" and self.tags.get(PHOTOMETRIC) == 0
        if mode.startswith("I;16"):
            bits = self.tags.get(BITS, (16,))[0] if self.format == "TIFF" else 16
            low, high = 0.0, float(2**bits - 1)
        elif mode in ("I", "F"):
            extrema: Any = self.image.getextrema()  # no depth is stated: the range in use has to do
            low, high = float(extrema[0]), float(extrema[1])
            if not np.isfinite([low, high]).all():
                raise ImageError(f"{self.path} holds values that are not numbers")
            if low >= 0:
                low, high = 0.0, next((top for top in (1.0, 255.0, 65535.0) if high <= top), high)
        else:
            return None
        return (high, -255 / (high - low)) if white_is_zero else (low, 255 / (high - low))

    def _to_rgb(self, band: Image.Image) -> Image.Image:
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


@contextlib.contextmanager
def decoding(path: Path) -> Iterator[None]:
    """Turn whatever a decoder throws at a damaged file into one clear error."""
    try:
        yield
    except ImageError:
        raise
    except UnidentifiedImageError as error:
        raise ImageError(f"{path} is not a picture this program reads ({_known()}, .pdf)") from error
    except MemoryError as error:
        raise ImageError(f"{path}: not enough memory to decode it; raise --max-memory") from error
    # Decoders answer damaged input with nearly any exception (struct.error, KeyError, SyntaxError, ...).
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ImageError(f"{path} cannot be read: {reason}") from error


def _known() -> str:
    return ", ".join(SUFFIXES)


@contextlib.contextmanager
def own_size_check() -> Iterator[None]:
    """Switch off Pillow's size limit while this package's own, stricter one (`max_pixels`) rules."""
    with _bomb_lock:
        before, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            yield
        finally:
            Image.MAX_IMAGE_PIXELS = before


def _orientation(image: Image.Image) -> int:
    """The EXIF orientation, 1 where there is none or nonsense."""
    try:
        if image.format == "PNG" and "exif" not in image.info:
            # The data may stand at the file's end, and Pillow would decode all that is before.
            image.info["exif"] = _late_exif(Path(getattr(image, "filename", "")))
        value = Image.Image.getexif(image).get(ORIENTATION, 1)
    except Exception:  # damaged EXIF data must not cost the page
        return 1
    return value if value in UNDO else 1


def _late_exif(path: Path) -> bytes:
    """The EXIF chunk of a PNG, wherever it is."""
    with path.open("rb") as file:
        file.seek(8)
        while len(head := file.read(8)) == 8:
            length, kind = struct.unpack(">I4s", head)
            if kind == b"eXIf":
                return b"Exif\0\0" + file.read(min(length, 1 << 20))
            file.seek(length + 4, io.SEEK_CUR)
    return b""


def _dpi(image: Image.Image) -> tuple[float, float] | None:
    """Horizontal and vertical resolution if the file states a believable one."""
    try:
        x, y = (float(value) for value in image.info["dpi"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    return (x, y) if 10 <= x <= 20_000 and 10 <= y <= 20_000 else None  # NaN fails too


class _Profile:
    """A colour profile's way to sRGB."""

    def __init__(self, data: bytes, mode: str) -> None:
        source = ImageCms.ImageCmsProfile(io.BytesIO(data))
        self.input_mode = mode
        self._transform = ImageCms.buildTransform(source, ImageCms.createProfile("sRGB"), mode, "RGB")

    def apply(self, band: Image.Image) -> Image.Image:
        converted = ImageCms.applyTransform(band, self._transform)
        assert converted is not None  # only with inPlace=True
        return converted


def _profile(image: Image.Image) -> _Profile | None:
    """The embedded colour profile, unless it is sRGB, damaged or made for another kind of picture."""
    data = image.info.get("icc_profile")
    mode = {"LA": "L", "RGBA": "RGB"}.get(image.mode, image.mode)
    if not isinstance(data, bytes) or b"sRGB" in data or b"s\0R\0G\0B" in data:
        return None
    if mode not in ("L", "RGB", "CMYK", "LAB"):
        return None
    try:
        return _Profile(data, mode)
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return None
