"""PNG files of packed or 8-bit rows, written by hand because Pillow would hold a byte for every bit."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from drmamba.images.arrays import DPI
from drmamba.images.record import PROGRAM

BAND_ROWS = 256  # rows compressed at a time
NO_FILTER, UP_FILTER = 0, 2  # numbers of PNG's row filters
METRES_PER_INCH = 0.0254


def encode_png(rows: NDArray[np.uint8], width: int, bits: int, dpi: DPI | None, record: str) -> bytes:
    """Return the bytes of a PNG file of grey rows with 1 or 8 bits a pixel, in which 0 is black."""
    height = len(rows)
    parts = [b"\x89PNG\r\n\x1a\n", _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0))]
    if dpi:
        across, down = (round(value / METRES_PER_INCH) for value in dpi)  # pixels a metre
        parts.append(_chunk(b"pHYs", struct.pack(">IIB", across, down, 1)))
    if record:
        parts.append(_chunk(b"iTXt", PROGRAM.encode("latin-1") + b"\0\0\0\0\0" + record.encode()))
    compressor = zlib.compressobj(9 if bits == 1 else 6)
    data = bytearray()
    above = np.zeros((1, rows.shape[1]), np.uint8)
    for top in range(0, height, BAND_ROWS):
        band = rows[top : top + BAND_ROWS]
        lines = np.empty((len(band), rows.shape[1] + 1), np.uint8)
        lines[:, 0] = NO_FILTER if bits == 1 else UP_FILTER
        lines[:, 1:] = band if bits == 1 else band - np.concatenate([above, band[:-1]])  # modulo 256
        above = band[-1:]
        data += compressor.compress(lines.tobytes())
    data += compressor.flush()
    parts += [_chunk(b"IDAT", bytes(data)), _chunk(b"IEND", b"")]
    return b"".join(parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    """Return a chunk of a PNG file: length, kind, data and checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
