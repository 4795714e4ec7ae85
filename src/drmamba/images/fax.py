"""CCITT Group 4: the coding archives keep black-and-white pages in, and the TIFF container around it.

Pillow (libtiff) does the coding. Its own TIFF writer turns a 1-bit page into "white is zero", which fax
coding wants, one pixel at a time in Python; so the container is laid out here.
"""

from __future__ import annotations

import io
import struct
from fractions import Fraction
from typing import Any

from PIL import Image

from drmamba.images.raster import own_size_check
from drmamba.images.rows import DPI

ASCII, SHORT, LONG, RATIONAL = 2, 3, 4, 5  # TIFF field types
STRIP_OFFSETS, STRIP_COUNTS = 273, 279


def encode_fax(bits: bytes, width: int, height: int) -> bytes:
    """Bare G4 data of packed rows; a set bit is black."""
    buffer = io.BytesIO()
    image = Image.frombuffer("1", (width, height), bits, "raw", "1", 0, 1)
    image.save(buffer, "TIFF", compression="group4", strip_size=len(bits))  # one strip
    with own_size_check(), Image.open(buffer, formats=["TIFF"]) as coded:
        tags: Any = coded.tag_v2  # type: ignore[attr-defined]
        (offset,), (count,) = tags[STRIP_OFFSETS], tags[STRIP_COUNTS]
    return buffer.getbuffer()[offset : offset + count].tobytes()


Strips = list[tuple[int, bytes]]  # rows and G4 data


def tiff(pages: list[tuple[Strips, int, int, DPI | None]], record: str = "") -> bytes:
    """A TIFF of pages given as (strips, width, height, dpi); the record stands in the first page."""
    file = bytearray(b"II*\0\0\0\0\0")
    link = 4  # where the offset of the next page's directory goes
    for number, (strips, width, height, dpi) in enumerate(pages):
        places = []
        for _, fax in strips:
            places.append(len(file))
            file += fax + b"\0" * (len(fax) % 2)
        fields = {
            254: (LONG, [2 if len(pages) > 1 else 0]),  # NewSubfileType: a page of several
            256: (LONG, [width]),
            257: (LONG, [height]),
            258: (SHORT, [1]),  # BitsPerSample
            259: (SHORT, [4]),  # Compression: CCITT G4
            262: (SHORT, [0]),  # PhotometricInterpretation: white is zero
            STRIP_OFFSETS: (LONG, places),
            277: (SHORT, [1]),  # SamplesPerPixel
            278: (LONG, [strips[0][0]]),  # RowsPerStrip
            STRIP_COUNTS: (LONG, [len(fax) for _, fax in strips]),
            305: (ASCII, list(b"drmamba\0")),  # Software
        }
        if record and number == 0:
            fields[270] = (ASCII, [*record.encode("ascii", "backslashreplace"), 0])  # ImageDescription
        if dpi:
            fields[282], fields[283] = (RATIONAL, _ratio(dpi[0])), (RATIONAL, _ratio(dpi[1]))
            fields[296] = (SHORT, [2])  # ResolutionUnit: inch
        if len(pages) > 1:
            fields[297] = (SHORT, [number, len(pages)])
        directory = _append_fields(file, fields)
        file[link : link + 4] = struct.pack("<I", directory)
        link = len(file) - 4
    return bytes(file)


def _append_fields(file: bytearray, fields: dict[int, tuple[int, list[int]]]) -> int:
    """Append the values that do not fit into the directory, then the directory; its offset."""
    entries = b""
    for tag, (kind, values) in sorted(fields.items()):
        count = len(values) // 2 if kind == RATIONAL else len(values)
        letter = {ASCII: "B", SHORT: "H", LONG: "I", RATIONAL: "I"}[kind]
        packed = struct.pack(f"<{len(values)}{letter}", *values)
        if len(packed) > 4:
            offset = len(file)
            file += packed + b"\0" * (len(packed) % 2)
            packed = struct.pack("<I", offset)
        entries += struct.pack("<HHI", tag, kind, count) + packed.ljust(4, b"\0")
    directory = len(file)
    file += struct.pack("<H", len(fields)) + entries + b"\0\0\0\0"
    return directory


def _ratio(value: float) -> list[int]:
    ratio = Fraction(value).limit_denominator(10_000)
    return [ratio.numerator, ratio.denominator]
