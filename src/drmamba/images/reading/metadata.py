"""What a picture file says about its pixels: orientation, resolution and colour profile."""

from __future__ import annotations

import io
import struct
from pathlib import Path

from PIL import Image, ImageCms

from drmamba.images.arrays import DPI
from drmamba.images.tiff_directory import ORIENTATION

UPRIGHT = 1  # the EXIF orientation of a page that needs no turning
TRANSPOSES = {  # EXIF orientation -> the operation that makes the page upright
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
SIDEWAYS = (5, 6, 7, 8)  # EXIF orientations in which width and height are exchanged
PLAUSIBLE_DPI = (10, 20_000)  # dots per inch; a resolution outside this range is ignored
MAX_EXIF = 1 << 20  # bytes of EXIF data that are read


def read_orientation(image: Image.Image) -> int:
    """Return the EXIF orientation; it is 1 (upright) if none or an invalid one is stated."""
    if image.format in ("HEIF", "JXL"):
        return UPRIGHT  # These formats state the orientation themselves, and their decoders have applied it.
    try:
        if image.format == "PNG" and "exif" not in image.info:
            # The EXIF data may stand after the pixels, and Pillow would decode the pixels to reach it.
            image.info["exif"] = _png_exif(Path(getattr(image, "filename", "")))
        value = Image.Image.getexif(image).get(ORIENTATION, UPRIGHT)
    except Exception:  # Damaged EXIF data must not make the page unreadable.
        return UPRIGHT
    return value if value in TRANSPOSES else UPRIGHT


def _png_exif(path: Path) -> bytes:
    """Return the EXIF chunk of a PNG, wherever it stands in the file."""
    with path.open("rb") as file:
        file.seek(8)
        while len(head := file.read(8)) == 8:
            length, kind = struct.unpack(">I4s", head)
            if kind == b"eXIf":
                return b"Exif\0\0" + file.read(min(length, MAX_EXIF))
            file.seek(length + 4, io.SEEK_CUR)
    return b""


def read_dpi(image: Image.Image) -> DPI | None:
    """Return the horizontal and vertical resolution if the file states a plausible one."""
    try:
        x, y = (float(value) for value in image.info["dpi"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    low, high = PLAUSIBLE_DPI
    return (x, y) if low <= x <= high and low <= y <= high else None  # NaN fails too


class ColorProfile:
    """The conversion from an embedded colour profile to sRGB."""

    def __init__(self, data: bytes, mode: str) -> None:
        source = ImageCms.ImageCmsProfile(io.BytesIO(data))
        self.input_mode = mode
        self._transform = ImageCms.buildTransform(source, ImageCms.createProfile("sRGB"), mode, "RGB")

    def apply(self, band: Image.Image) -> Image.Image:
        """Return the band as sRGB."""
        converted = ImageCms.applyTransform(band, self._transform)
        assert converted is not None  # Pillow returns None only with inPlace=True.
        return converted


def read_color_profile(image: Image.Image) -> ColorProfile | None:
    """Return the embedded colour profile unless it is sRGB, damaged or made for another kind of picture."""
    data = image.info.get("icc_profile")
    mode = {"LA": "L", "RGBA": "RGB"}.get(image.mode, image.mode)
    if not isinstance(data, bytes) or b"sRGB" in data or b"s\0R\0G\0B" in data:
        return None
    if mode not in ("L", "RGB", "CMYK", "LAB"):
        return None
    try:
        return ColorProfile(data, mode)
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return None
