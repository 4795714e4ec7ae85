"""Large writing on an otherwise empty page: addresses, signatures and headings of letters."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from drmamba.data.synthetic.forms import handwriting
from drmamba.data.synthetic.layers import Layer, ink_tone
from drmamba.data.synthetic.pen import Hand, Points, hand, line_of_words
from drmamba.data.synthetic.plate import Plate
from drmamba.data.synthetic.typography import Typography, log_uniform

POINTED = 0.7  # share of the writers with a pointed pen, which draws hairlines and swells on down-strokes
OTHER_INK = 0.4  # share of the pages on which a second writer has added lines in another ink


def calligraphy(_typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """A few words with hairlines, swelling strokes and flourishes, by one writer or by two."""
    seen = plate.window
    y = rng.uniform(seen.top, seen.top + 0.8 * seen.height)
    layers: list[Layer] = []
    for writer in [_penman(rng) for _ in range(2 if rng.random() < OTHER_INK else 1)]:
        strokes: list[Points] = []
        for _ in range(int(rng.integers(1, 4))):
            left = rng.uniform(seen.left - 2 * writer.x_height, seen.left + 0.6 * seen.width)
            span = left, left + rng.uniform(0.2, 1.0) * seen.width
            strokes += line_of_words(writer, rng, span, y, rng.normal(0, 0.02))
            strokes += [_flourish(rng, writer, rng.uniform(*span), y) for _ in range(int(rng.integers(3)))]
            y += writer.line * writer.x_height
        layers += handwriting(rng, plate, writer, strokes, np.maximum(ink_tone(rng), np.float32(0.2)))
    return layers


def _penman(rng: np.random.Generator) -> Hand:
    """A writer with a large hand, whose thinnest strokes are hairlines whatever its size."""
    writer = hand(rng, log_uniform(rng, 16, 70))
    thin = log_uniform(rng, 1.0, 3.0)
    broad = thin + log_uniform(rng, 0.5, 0.5 * writer.x_height)
    nib = None if rng.random() < POINTED else writer.nib
    return replace(writer, widths=(thin, broad), nib=nib)


def _flourish(rng: np.random.Generator, writer: Hand, x: float, y: float) -> Points:
    """Loops that widen or narrow and drift sideways, as beneath a signature or in a large initial."""
    turns = rng.uniform(0.6, 2.5)
    sweep = 2 * math.pi * turns * rng.choice((-1, 1))
    angle = np.linspace(0, sweep, max(6, int(10 * turns))) + rng.uniform(0, 6)
    grows = np.linspace(rng.uniform(0.4, 1.2), rng.uniform(0.4, 1.2), len(angle))
    wide, high = rng.uniform(1, 4), rng.uniform(0.3, 2.5)
    drift = np.linspace(0, rng.normal(0, 3), len(angle))
    across = wide * grows * np.cos(angle) + drift
    up = high * grows * np.sin(angle) + rng.uniform(-0.5, 1.5)
    return np.stack([x + (across + writer.slant * up) * writer.x_height, y - up * writer.x_height], 1)
