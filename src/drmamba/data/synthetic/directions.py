"""Text in several directions: rotated notes in the margin, crossed letters, slanted lines."""

from __future__ import annotations

import numpy as np
from PIL import Image

from drmamba.data.page import Field
from drmamba.data.synthetic.galley import Galley, column
from drmamba.data.synthetic.layers import Layer, ink_tone
from drmamba.data.synthetic.pen import written
from drmamba.data.synthetic.plate import Box, Plate
from drmamba.data.synthetic.typecase import lay
from drmamba.data.synthetic.typography import Typography, log_uniform, random_hand


def rotated(picture: Field, degrees: float) -> Field:
    """A picture of ink rotated anticlockwise, enlarged so that nothing is cut off."""
    if degrees % 90 == 0:
        return np.rot90(picture, int(degrees // 90))
    image = Image.fromarray((picture * 255).astype(np.uint8))
    picture_rotated = image.rotate(degrees, Image.Resampling.BICUBIC, expand=True)
    return np.asarray(picture_rotated) * np.float32(1 / 255)


def directions(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """A page of print or writing, with other text across or beside it that runs in another direction."""
    draw = rng.random()
    if draw < 0.3:
        return _crossed(rng, plate)
    page, script = plate.page, typography.script(rng)
    face, size = typography.face(rng, script), int(log_uniform(rng, 10, 36))
    # The margin begins inside the window, so that both directions are visible.
    seen = plate.window
    edge = seen.left + rng.uniform(0.3, 0.7) * seen.width
    left_text = rng.random() < 0.5
    text = page._replace(right=edge - size) if left_text else page._replace(left=edge + size)
    column(plate, Galley(rng, face, size, plate, page.width), rng, text, pitch=size * rng.uniform(1.1, 1.5))
    margin = Box(edge, seen.top, seen.right, seen.bottom) if left_text else seen._replace(right=edge)
    if draw < 0.65:
        note = _printed_note(typography, rng, margin)
    else:
        height, width = max(8, int(margin.height)), max(8, int(margin.width))
        note = written(random_hand(rng, 8, 24), rng, (width, height))
    quarters = int(rng.choice((1, 3)))
    slant = rng.uniform(-12, 12) if rng.random() < 0.3 else 0.0
    ink = ink_tone(rng)
    layers = plate.layers(ink, rng, rng.uniform(0, 0.5) * min(1, size / 20))
    canvas = np.zeros(plate.shape, np.float32)
    lay(
        canvas,
        rotated(np.ascontiguousarray(np.rot90(note, quarters)), slant),
        margin.left - plate.corner[1],
        margin.top - plate.corner[0],
    )
    layers.append(Layer(canvas, ink if draw < 0.65 else ink_tone(rng)))
    return layers


def _printed_note(typography: Typography, rng: np.random.Generator, margin: Box) -> Field:
    """Lines of print whose length is the height of the margin."""
    height, width = max(8, int(margin.width)), max(8, int(margin.height))
    piece = Plate((height, width), Box(0, 0, width, height))
    size = int(log_uniform(rng, 10, 40))
    galley = Galley(rng, typography.face(rng), size, piece, width)
    column(piece, galley, rng, piece.page, pitch=size * rng.uniform(1.1, 1.8), alignment="left")
    return piece.canvas("text")


def _crossed(rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """A crossed letter: written twice on one sheet, the second time across the first, to save paper."""
    writer = random_hand(rng, 9, 22)
    first = written(writer, rng, plate.shape)
    second = written(writer, rng, (plate.shape[1], plate.shape[0]))
    ink = ink_tone(rng)
    other = ink if rng.random() < 0.6 else ink_tone(rng)
    return [Layer(first, ink), Layer(np.ascontiguousarray(np.rot90(second)), other)]
