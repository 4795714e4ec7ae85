"""Undoing the five row filters of PNG; each byte may depend on the one before, so Pillow's own decoder does it.

The rows of a band are wrapped as a small PNG whose first row is the one above the band. A byte depends only on bytes at
the same place within their pixels, so pixels of more than four bytes are decoded in two parts.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
from PIL import Image

Array = np.ndarray[Any, Any]

LAST_FILTER = 4  # the filters have the numbers 0 to 4
COLOUR_TYPES = {
    1: 0,
    2: 4,
    3: 2,
    4: 6,
}  # PNG's number for pixels of so many bytes: grey, grey and alpha, RGB, RGBA


def unfilter(lines: Array, above: Array, step: int, rows: Array) -> bool:
    """Fill `rows` with the unfiltered lines; return False if a line has an unknown filter.

    lines: (n, 1 + bytes), each with the number of its filter first   above: (bytes,)   rows: (n, bytes)
    """
    if (lines[:, 0] > LAST_FILTER).any():
        return False
    count, width = rows.shape
    pixels = lines[:, 1:].reshape(count, width // step, step)
    first, filled = above.reshape(width // step, step), rows.reshape(count, width // step, step)
    part = step if step in COLOUR_TYPES else step // 2
    for start in range(0, step, part):
        some = slice(start, start + part)
        filled[:, :, some] = _decoded(lines[:, 0], pixels[:, :, some], first[:, some])
    return True


def _decoded(filters: Array, pixels: Array, above: Array) -> Array:
    """Return the unfiltered pixels (n, width, bytes) of rows below the row `above`, (width, bytes)."""
    count, width, size = pixels.shape
    lines = np.zeros((count + 1, 1 + width * size), np.uint8)  # The first row has filter 0, which is none.
    lines[0, 1:] = above.ravel()
    lines[1:, 0], lines[1:, 1:] = filters, pixels.reshape(count, width * size)
    header = struct.pack(">IIBBBBB", width, count + 1, 8, COLOUR_TYPES[size], 0, 0, 0)
    stored = zlib.compress(lines.tobytes(), 0)  # Level 0 copies the bytes.
    data = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", stored) + _chunk(b"IEND", b"")
    with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
        return np.asarray(image).reshape(count + 1, width, size)[1:]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
