"""Page elements besides running text: rules, frames, initials and stamps. All of them are printed or drawn ink."""

from __future__ import annotations

import math

import numpy as np
from PIL import Image, ImageDraw

from drmamba.data.filters import smoothstep
from drmamba.data.noise import clouds
from drmamba.data.page import Field
from drmamba.data.synthetic.fonts import FEWEST, loaded, settable
from drmamba.data.synthetic.pen import stamp


def rules(rng: np.random.Generator, shape: tuple[int, int], stroke: float) -> Field:
    """One to three straight lines, or a frame."""
    page = np.zeros(shape, np.float32)
    height, width = shape
    lines = []
    if rng.random() < 0.4:
        inset = rng.uniform(0.03, 0.2, 4)
        x0, x1 = inset[0] * width, (1 - inset[1]) * width * rng.uniform(1, 1.3)
        y0, y1 = inset[2] * height, (1 - inset[3]) * height * rng.uniform(1, 1.3)
        lines = [(x0, y0, x1, y0), (x0, y1, x1, y1), (x0, y0, x0, y1), (x1, y0, x1, y1)]
    else:
        for _ in range(int(rng.integers(1, 4))):
            lean = rng.normal(0, 0.01)
            if rng.random() < 0.6:
                y, x0, x1 = (
                    rng.uniform(0, height),
                    rng.uniform(-0.3, 0.4) * width,
                    rng.uniform(0.6, 1.3) * width,
                )
                lines.append((x0, y, x1, y + lean * width))
            else:
                x = rng.uniform(0, width)
                lines.append((x, -0.1 * height, x + lean * height, 1.1 * height))
    for x0, y0, x1, y1 in lines:
        steps = np.linspace(0, 1, max(2, math.ceil(math.hypot(x1 - x0, y1 - y0) / 4)))
        path = np.stack([x0 + (x1 - x0) * steps, y0 + (y1 - y0) * steps], 1)
        stamp(page, path, np.full(len(path), 0.5 * stroke))
    return page


def initial(
    rng: np.random.Generator, shape: tuple[int, int], file: str, size: int
) -> tuple[Field, tuple[slice, slice]]:
    """One large letter, and the box around it, which must be cleared of other text."""
    letter = settable(file, "latin")[rng.integers(FEWEST)][0].upper()
    font = loaded(file, size)
    canvas = Image.new("L", (shape[1], shape[0]))
    place = rng.uniform(-0.2, 0.8) * shape[1], rng.uniform(-0.2, 0.8) * shape[0]
    box = font.getbbox(letter)
    ImageDraw.Draw(canvas).text(place, letter, 255, font)
    top, left = (max(0, int(place[1 - k] + box[1 - k]) - 3) for k in range(2))
    bottom, right = (max(0, int(place[1 - k] + box[3 - k]) + 4) for k in range(2))
    return np.asarray(canvas) * np.float32(1 / 255), (slice(top, bottom), slice(left, right))


def round_stamp(rng: np.random.Generator, shape: tuple[int, int], file: str) -> Field:
    """An archive's stamp: two rings with a word in the middle, unevenly inked."""
    radius = rng.uniform(0.1, 0.25) * min(shape) + 8
    side = math.ceil(2 * radius + 4)
    canvas = Image.new("L", (side, side))
    draw = ImageDraw.Draw(canvas)
    middle = side / 2
    for ring, width in ((radius, rng.uniform(1.5, 3.5)), (radius * rng.uniform(0.6, 0.8), rng.uniform(1, 2))):
        draw.ellipse(
            (middle - ring, middle - ring, middle + ring, middle + ring), outline=255, width=round(width)
        )
    vocabulary = settable(file, "latin")
    word = vocabulary[rng.integers(len(vocabulary))][:9].upper()
    font = loaded(file, max(8, round(1.5 * radius / max(4, len(word)))))
    draw.text((middle, middle), word, 255, font, anchor="mm")
    turned = canvas.rotate(float(rng.uniform(-40, 40)), Image.Resampling.BICUBIC)
    page = Image.new("L", (shape[1], shape[0]))
    page.paste(turned, (int(rng.uniform(-0.3, 1) * shape[1]), int(rng.uniform(-0.3, 1) * shape[0])))
    pressed = smoothstep(clouds(rng, shape, 0.5 * radius, octaves=3), -2.0, -0.6)
    return np.asarray(page) * np.float32(1 / 255) * pressed
