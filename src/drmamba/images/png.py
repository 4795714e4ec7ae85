"""PNG from packed or 8-bit rows, without a second copy of the page (Pillow holds a byte for every bit)."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from drmamba.images.rows import DPI

ROWS = 256  # compressed at a time
NONE, UP = 0, 2  # row filters
INCH = 0.0254  # metres


def png(rows: NDArray[np.uint8], width: int, bits: int, dpi: DPI | None, record: str, key: str) -> bytes:
    """Grey rows of 1 or 8 bits a pixel as the bytes of a file; 0 is black. The record is a text named key."""
    height = len(rows)
    parts = [b"\x89PNG\r\n\x1a\n", _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0))]
    if dpi:
        parts.append(_chunk(b"pHYs", struct.pack(">IIB", round(dpi[0] / INCH), round(dpi[1] / INCH), 1)))
    if record:
        parts.append(_chunk(b"iTXt", key.encode("latin-1") + b"\0\0\0\0\0" + record.encode()))
    squeeze = zlib.compressobj(9 if bits == 1 else 6)
    data = bytearray()
    above = np.zeros((1, rows.shape[1]), np.uint8)
    for top in range(0, height, ROWS):
        band = rows[top : top + ROWS]
        lines = np.empty((len(band), rows.shape[1] + 1), np.uint8)
        lines[:, 0] = NONE if bits == 1 else UP
        lines[:, 1:] = band if bits == 1 else band - np.concatenate([above, band[:-1]])  # modulo 256
        above = band[-1:]
        data += squeeze.compress(lines.tobytes())
    data += squeeze.flush()
    parts += [_chunk(b"IDAT", bytes(data)), _chunk(b"IEND", b"")]
    return b"".join(parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
