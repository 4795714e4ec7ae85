"""The directory of a TIFF page: the list of fields that describes its pixels.

It is written by hand because Pillow offers no stable way to write a directory around data that is
compressed already, and both users have such data: `writing.tiff_g4` joins G4 strips to a file, and
`reading.banded` wraps a few strips or tiles of a large page as a small TIFF.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Literal

ASCII, SHORT, LONG, RATIONAL, UNDEFINED = 2, 3, 4, 5, 7  # field types
LETTERS = {ASCII: "B", SHORT: "H", LONG: "I", RATIONAL: "I", UNDEFINED: "B"}  # field type -> struct format

SUBFILE_TYPE, WIDTH, HEIGHT, BITS_PER_SAMPLE, COMPRESSION, PHOTOMETRIC = 254, 256, 257, 258, 259, 262
DESCRIPTION, STRIP_OFFSETS, ORIENTATION, SAMPLES_PER_PIXEL = 270, 273, 274, 277
ROWS_PER_STRIP, STRIP_BYTE_COUNTS, X_RESOLUTION, Y_RESOLUTION, PLANAR_CONFIGURATION = 278, 279, 282, 283, 284
RESOLUTION_UNIT, PAGE_NUMBER, SOFTWARE = 296, 297, 305
TILE_WIDTH, TILE_HEIGHT, TILE_OFFSETS, TILE_BYTE_COUNTS = 322, 323, 324, 325

Fields = Mapping[int, tuple[int, Sequence[int]]]  # tag -> field type and values; a rational is two values


def encode_directory(fields: Fields, position: int, order: Literal["<", ">"] = "<") -> tuple[bytes, int]:
    """Return the bytes to append at a position of the file, and the directory's offset in the file.

    Values that do not fit into the directory stand before it. The directory links to no next page.
    """
    values, entries = bytearray(), b""
    for tag, (kind, numbers) in sorted(fields.items()):
        count = len(numbers) // 2 if kind == RATIONAL else len(numbers)
        packed = struct.pack(f"{order}{len(numbers)}{LETTERS[kind]}", *numbers)
        if len(packed) > 4:
            offset = position + len(values)
            values += packed + b"\0" * (len(packed) % 2)
            packed = struct.pack(f"{order}I", offset)
        entries += struct.pack(f"{order}HHI", tag, kind, count) + packed.ljust(4, b"\0")
    directory = struct.pack(f"{order}H", len(fields)) + entries + bytes(4)
    return bytes(values) + directory, position + len(values)
