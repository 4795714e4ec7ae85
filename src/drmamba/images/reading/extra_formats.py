"""HEIC and JPEG XL, which Pillow reads with the libraries of the extra `formats`; the one place that imports them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from drmamba.errors import ImageError, MissingExtra

# Brands of the first box of a file: pictures coded by HEVC, and containers of one or more of them.
HEIC_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
JXL_CODESTREAM, JXL_CONTAINER = b"\xff\x0a", b"\0\0\0\x0cJXL \r\n\x87\n"
JXL_BITS = (9, 13, 18, 30)  # lengths of a side's number, by its selector
JXL_RATIOS = ((1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1))  # width to height, by their number


def extra_format(path: Path) -> str:
    """Return Pillow's name of the format, HEIF or JXL, or nothing if the file begins like neither."""
    with path.open("rb") as file:
        head = file.read(12)
    if head[4:8] == b"ftyp" and head[8:12] in HEIC_BRANDS:
        return "HEIF"
    return "JXL" if head.startswith((JXL_CODESTREAM, JXL_CONTAINER)) else ""


def register_format(name: str, path: Path) -> None:
    """Let Pillow read a format; without its library, an error names the extra."""
    try:
        if name == "HEIF":
            import pillow_heif

            pillow_heif.register_heif_opener(thumbnails=False)
        else:
            import pillow_jxl  # noqa: F401  # its import registers it
    except ImportError as error:
        library, words = ("pillow-heif", "HEIC") if name == "HEIF" else ("pillow-jxl-plugin", "JPEG XL")
        missing = MissingExtra(library, "formats", f"which reads {words}")
        raise ImageError(f"{path} is a {words} picture, and {missing}") from error


def jxl_size(path: Path) -> tuple[int, int]:
    """Return width and height that a JPEG XL file declares, because its library decodes a file to learn them."""
    with path.open("rb") as file:
        if file.read(2) != JXL_CODESTREAM:
            file.seek(0)
            _enter_codestream(file, path)
        bits = int.from_bytes(file.read(12), "little")  # the first bit is the lowest one
    small, bits = bits & 1, bits >> 1
    height, bits = _jxl_side(bits, small=bool(small))
    ratio, bits = bits & 7, bits >> 3
    if ratio:
        wide, high = JXL_RATIOS[ratio - 1]
        return height * wide // high, height
    return _jxl_side(bits, small=bool(small))[0], height


def _jxl_side(bits: int, *, small: bool) -> tuple[int, int]:
    """Return a side in pixels and the bits after it."""
    if small:
        return 8 * ((bits & 31) + 1), bits >> 5
    length = JXL_BITS[bits & 3]
    return (bits >> 2 & (1 << length) - 1) + 1, bits >> 2 + length


def _enter_codestream(file: BinaryIO, path: Path) -> None:
    """Move to the first byte after the marker of the codestream inside a container."""
    while len(head := file.read(8)) == 8:
        length, kind = struct.unpack(">I4s", head)
        used = 8
        if length == 1:
            length, used = int.from_bytes(file.read(8), "big"), 16
        if kind in (b"jxlc", b"jxlp"):
            file.seek(4 if kind == b"jxlp" else 0, 1)  # a part of a codestream begins with its number
            if file.read(2) == JXL_CODESTREAM:
                return
            break
        if not used <= length <= path.stat().st_size:
            break
        file.seek(length - used, 1)
    raise ImageError(f"{path} is damaged: the JPEG XL file holds no picture")
