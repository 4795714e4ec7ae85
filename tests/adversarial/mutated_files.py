"""A seeded generator of damaged files of every format."""

import numpy as np
from PIL import Image
from stand_in import text_page

from drmamba.images import Bitmap, encode


def healthy(folder):
    """Small pages in every format and kind."""
    grey = text_page(90, 120)
    image, colour = Image.fromarray(grey), Image.fromarray(np.stack([grey] * 3, 2))
    folder.mkdir()
    for name, options in {
        "a.jpg": {}, "b.png": {}, "c.tif": {}, "d.jp2": {}, "e.webp": {}, "f.bmp": {},
        "g.tif": {"compression": "tiff_lzw"}, "h.tif": {"compression": "jpeg"}, "i.jpg": {"progressive": True},
        "j.tif": {"compression": "tiff_adobe_deflate"}, "k.webp": {"lossless": True},
    }.items():  # fmt: skip
        colour.save(folder / name, **options)
    image.convert("CMYK").save(folder / "l.tif")
    image.convert("1").save(folder / "m.tif", compression="group4")
    image.quantize(16).save(folder / "n.png")
    Image.fromarray(grey.astype(np.uint16) * 257).save(folder / "o.png")
    colour.convert("RGBA").save(folder / "p.png", dpi=(300, 300))
    bitmap = Bitmap.pack(grey < 128, 300.0)
    (folder / "q.pdf").write_bytes(encode([bitmap, bitmap], ".pdf"))
    (folder / "r.tif").write_bytes(encode([bitmap, bitmap], ".tif"))
    return sorted(folder.iterdir())


def mutated(path, rng):
    """One way in which a file can be wrong, and the ending it pretends to have."""
    data, ending = bytearray(path.read_bytes()), path.suffix
    kind = rng.choice(
        ["bits", "bits", "bytes", "cut", "cut", "ending", "sizes", "zeros", "tail", "empty", "splice"]
    )
    if kind in ("bits", "bytes"):
        for _ in range(rng.choice([1, 3, 20, 200])):
            at = rng.randrange(min(len(data), rng.choice([64, 600, len(data)])))
            data[at] = data[at] ^ (1 << rng.randrange(8)) if kind == "bits" else rng.randrange(256)
    elif kind == "cut":
        del data[rng.randrange(len(data)) :]
    elif kind == "ending":
        ending = rng.choice([".jpg", ".png", ".tif", ".jp2", ".webp", ".bmp", ".pdf"])
    elif kind == "sizes":  # four bytes of the head become a huge number, in either byte order
        at = rng.randrange(min(len(data) - 4, 120))
        huge = rng.choice([2**31 - 1, 2**32 - 1, 65_535, 40_000, 1_000_000])
        data[at : at + 4] = huge.to_bytes(4, rng.choice(["big", "little"]))
    elif kind == "zeros":
        at = rng.randrange(len(data))
        data[at : at + rng.randrange(1, 4000)] = bytes(rng.randrange(1, 4000))
    elif kind == "tail":
        data += rng.randbytes(rng.randrange(1, 5000))
    elif kind == "empty":
        data = bytearray()
    else:
        at = rng.randrange(len(data))
        data[at:at] = data[: rng.randrange(1, 500)]
    return bytes(data), ending
