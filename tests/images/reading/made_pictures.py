"""Small pictures for the tests of reading."""

import struct
import zlib

import numpy as np
from PIL import Image

from drmamba.images.tiff_directory import LONG, SHORT, encode_directory

SIZE = (40, 24)  # width, height; the ink is the left quarter of the upper half


def page(mode="L"):
    """Return a small page in a mode of Pillow."""
    grey = np.full(SIZE[::-1], 255, np.uint8)
    grey[:12, :10] = 0
    image = Image.fromarray(grey)
    if mode in ("I;16", "I", "F"):
        wide = grey.astype({"I;16": np.uint16, "I": np.int32, "F": np.float32}[mode])
        return Image.fromarray(wide * 257 if mode != "F" else wide / 255)
    if mode == "P":
        return image.convert("RGB").quantize(4)
    return image.convert(mode)


def tiff(values, photometric, bits, *, tiled=False):
    """Return a TIFF of a kind that Pillow does not write."""
    height, width = values.shape
    file = bytearray(b"II*\0\0\0\0\0")
    if tiled:
        data = np.zeros((32, 48), values.dtype)
        data[:height, :width] = values
        places = []
        for top in (0, 16):
            for left in (0, 16, 32):
                places.append(len(file))
                file += data[top : top + 16, left : left + 16].tobytes()
        layout = {322: (SHORT, [16]), 323: (SHORT, [16]), 324: (LONG, places), 325: (LONG, [256] * 6)}
    else:
        layout = {273: (LONG, [8]), 278: (SHORT, [height]), 279: (LONG, [values.nbytes])}
        file += values.tobytes()
    fields = {256: (SHORT, [width]), 257: (SHORT, [height]), 258: (SHORT, [bits]), 259: (SHORT, [1])}
    fields |= {262: (SHORT, [photometric]), 277: (SHORT, [1])} | layout
    block, directory = encode_directory(fields, len(file))
    file += block
    file[4:8] = struct.pack("<I", directory)
    return bytes(file)


def tiled_tiff(colours, tile, planar, compression):
    """Return a TIFF of tiles in colour, in one plane or three, uncompressed (1) or deflated (8)."""
    height, width, _ = colours.shape
    down, across = -(-height // tile), -(-width // tile)
    data = np.zeros((down * tile, across * tile, 3), np.uint8)
    data[:height, :width] = colours
    file, places, counts = bytearray(b"II*\0\0\0\0\0"), [], []
    for plane in [data] if planar == 1 else [data[:, :, i] for i in range(3)]:
        for top in range(0, down * tile, tile):
            for left in range(0, across * tile, tile):
                piece = plane[top : top + tile, left : left + tile].tobytes()
                piece = zlib.compress(piece) if compression == 8 else piece
                places.append(len(file))
                counts.append(len(piece))
                file += piece
    fields = {256: (SHORT, [width]), 257: (SHORT, [height]), 258: (SHORT, [8, 8, 8])}
    fields |= {259: (SHORT, [compression]), 262: (SHORT, [2]), 277: (SHORT, [3]), 284: (SHORT, [planar])}
    fields |= {322: (SHORT, [tile]), 323: (SHORT, [tile]), 324: (LONG, places), 325: (LONG, counts)}
    block, directory = encode_directory(fields, len(file))
    file += block
    file[4:8] = struct.pack("<I", directory)
    return bytes(file)
