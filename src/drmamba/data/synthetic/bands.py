"""White letters on black bands.

Under the convention `all` the black ground is ink and the letters are paper, so that the letters remain readable.
Under `contest` the pages have no bands, because any label of them would contradict other pages.
"""

from __future__ import annotations

import numpy as np

from drmamba.data.synthetic.galley import Galley, column
from drmamba.data.synthetic.layers import Layer, printers_ink
from drmamba.data.synthetic.plate import Box, Plate
from drmamba.data.synthetic.printing import worn
from drmamba.data.synthetic.typecase import set_type, some_words
from drmamba.data.synthetic.typography import Typography, log_uniform


def bands(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """Paragraphs with black bands between them, as in catalogues, advertisements and the heads of tables."""
    page, script = plate.page, typography.script(rng)
    face, heavy = typography.face(rng, script), typography.face(rng, script, style="heavy")
    size = int(log_uniform(rng, 10, 28))
    galley = Galley(rng, face, size, plate, page.width)
    pitch = size * rng.uniform(1.1, 1.5)
    top = page.top
    ground = np.zeros(plate.shape, np.float32)
    grounds: list[Box] = []
    while top < page.bottom:
        height = log_uniform(rng, 1.6 * size, max(2 * size, min(220, 0.5 * page.height)))
        left = page.left + (rng.uniform(0, 0.5) * page.width if rng.random() < 0.4 else 0)
        right = page.right - (rng.uniform(0, 0.4) * page.width if rng.random() < 0.4 else 0)
        box = Box(left, top, right, top + height)
        if plate.sees(box):
            part = plate.part(box)
            ground[part] = 1
            grounds.append(box)
            letters = plate.overlay()
            large = max(7, int(height * rng.uniform(0.45, 0.8)))
            words = set_type(heavy, large, some_words(rng, heavy, 1 + int(box.width / large / 2.9)))
            letters.paste("text", words, left + 0.3 * large, top + (height - words.shape[0]) / 2)
            ground[part] -= letters.canvas("text")[part]
        top += height + rng.uniform(0.3, 1.5) * size
        bottom = top + rng.integers(1, 12) * pitch
        column(plate, galley, rng, Box(page.left, top, page.right, bottom), pitch=pitch)
        top = bottom + rng.uniform(0.3, 1.5) * size
    for box in grounds:  # no line of text reaches into a band
        plate.clear(box)
    ink, wear = printers_ink(rng, size), rng.uniform(0, 0.5) * min(1, size / 18)
    return [*plate.layers(ink, rng, wear), Layer(worn(ground, rng, wear), ink, "band")]
