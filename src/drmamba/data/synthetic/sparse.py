"""Almost empty pages, on which the other side shows through."""

from __future__ import annotations

import numpy as np

from drmamba.data.synthetic.forms import handwriting
from drmamba.data.synthetic.layers import Layer, ink_tone
from drmamba.data.synthetic.pen import Points, line_of_words
from drmamba.data.synthetic.plate import Box, Plate
from drmamba.data.synthetic.typecase import set_type, some_words
from drmamba.data.synthetic.typography import Typography, log_uniform, random_hand


def sparse(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """A few lines in one place, printed or written, or nothing at all in this part of the page."""
    seen, strokes = plate.window, list[Points]()
    dark = ink_tone(rng, soot=rng.random() < 0.4)
    dark = np.maximum(dark, np.float32(0.35))  # it must stand out from bleed-through
    x, y = rng.uniform(seen.left, seen.right), rng.uniform(seen.top, seen.bottom)
    lines = int(rng.integers(1, 5))
    if rng.random() < 0.5:
        face = typography.face(rng, typography.script(rng))
        size = int(log_uniform(rng, 12, 48))
        for k in range(lines):
            top = y + 1.4 * k * size
            if plate.sees(Box(x, top, seen.right, top + size)):
                words = some_words(rng, face, int(rng.integers(1, 6)))
                plate.paste("text", set_type(face, size, words), x, top)
        if rng.random() < 0.3:
            plate.line("line", (x, y - 4), (x + rng.uniform(2, 12) * size, y - 4), rng.uniform(1, 4))
        return plate.layers(dark, rng, rng.uniform(0, 0.4))
    writer = random_hand(rng, 9, 30)
    for k in range(lines):
        span = x, x + rng.uniform(0.1, 0.6) * plate.shape[1]
        strokes += line_of_words(writer, rng, span, y + k * writer.line * writer.x_height, 0.0)
    return handwriting(rng, plate, writer, strokes, dark)
