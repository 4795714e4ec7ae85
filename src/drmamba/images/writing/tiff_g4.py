"""TIFF files of CCITT G4 pages.

Pillow does the coding (`writing.g4`), but the file around it is written by hand. Pillow would store a
1-bit page as "white is zero", which G4 readers expect, only after inverting every pixel in a Python loop;
it cannot join pages that are coded already; and it holds a byte for every pixel of a page.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from fractions import Fraction

from drmamba.images.record import PROGRAM
from drmamba.images.tiff_directory import (
    ASCII,
    BITS_PER_SAMPLE,
    COMPRESSION,
    DESCRIPTION,
    HEIGHT,
    LONG,
    PAGE_NUMBER,
    PHOTOMETRIC,
    RATIONAL,
    RESOLUTION_UNIT,
    ROWS_PER_STRIP,
    SAMPLES_PER_PIXEL,
    SHORT,
    SOFTWARE,
    STRIP_BYTE_COUNTS,
    STRIP_OFFSETS,
    SUBFILE_TYPE,
    WIDTH,
    X_RESOLUTION,
    Y_RESOLUTION,
    encode_directory,
)
from drmamba.images.writing.g4 import G4Page

WHOLE_IMAGE, PAGE_OF_SEVERAL = 0, 2  # values of SUBFILE_TYPE
GROUP_4 = 4  # value of COMPRESSION
WHITE_IS_ZERO = 0  # value of PHOTOMETRIC
INCH = 2  # value of RESOLUTION_UNIT


def encode_tiff(pages: Sequence[G4Page], record: str = "") -> bytes:
    """Return the bytes of a TIFF file; the record becomes the description of its first page."""
    file = bytearray(b"II*\0\0\0\0\0")
    link = 4  # where the offset of the next page's directory is to be written
    for number, page in enumerate(pages):
        offsets = []
        for _, data in page.strips:
            offsets.append(len(file))
            file += data + b"\0" * (len(data) % 2)
        fields: dict[int, tuple[int, list[int]]] = {
            SUBFILE_TYPE: (LONG, [PAGE_OF_SEVERAL if len(pages) > 1 else WHOLE_IMAGE]),
            WIDTH: (LONG, [page.width]),
            HEIGHT: (LONG, [page.height]),
            BITS_PER_SAMPLE: (SHORT, [1]),
            COMPRESSION: (SHORT, [GROUP_4]),
            PHOTOMETRIC: (SHORT, [WHITE_IS_ZERO]),
            STRIP_OFFSETS: (LONG, offsets),
            SAMPLES_PER_PIXEL: (SHORT, [1]),
            ROWS_PER_STRIP: (LONG, [page.strips[0][0]]),
            STRIP_BYTE_COUNTS: (LONG, [len(data) for _, data in page.strips]),
            SOFTWARE: (ASCII, [*PROGRAM.encode("ascii"), 0]),
        }
        if record and number == 0:
            fields[DESCRIPTION] = (ASCII, [*record.encode("ascii", "backslashreplace"), 0])
        if page.dpi:
            fields[X_RESOLUTION] = (RATIONAL, _ratio(page.dpi[0]))
            fields[Y_RESOLUTION] = (RATIONAL, _ratio(page.dpi[1]))
            fields[RESOLUTION_UNIT] = (SHORT, [INCH])
        if len(pages) > 1:
            fields[PAGE_NUMBER] = (SHORT, [number, len(pages)])
        block, directory = encode_directory(fields, len(file))
        file += block
        file[link : link + 4] = struct.pack("<I", directory)
        link = len(file) - 4
    return bytes(file)


def _ratio(value: float) -> list[int]:
    """Return a resolution as numerator and denominator."""
    ratio = Fraction(value).limit_denominator(10_000)
    return [ratio.numerator, ratio.denominator]
