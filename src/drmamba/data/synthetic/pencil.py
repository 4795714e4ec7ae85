"""Pencil: thin, pale and grainy, because only the raised fibres of the paper take the graphite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from drmamba.data.filters import smoothstep
from drmamba.data.synthetic.galley import Galley, column
from drmamba.data.synthetic.layers import Layer, ink_tone
from drmamba.data.synthetic.linework import outline, swelling, wandering
from drmamba.data.synthetic.pen import Hand, hand, written
from drmamba.data.synthetic.plate import Box, Plate
from drmamba.data.synthetic.typography import Typography, log_uniform
from drmamba.data.wide_noise import clouds, noise


def pencil(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """Writing or a sketch in pencil, alone or as a note on a printed page."""
    layers: list[Layer] = []
    if rng.random() < 0.3:
        size = int(log_uniform(rng, 12, 36))
        galley = Galley(rng, typography.face(rng), size, plate, plate.page.width)
        middle = plate.window.top + rng.uniform(0.3, 0.7) * plate.shape[0]
        column(plate, galley, rng, plate.page._replace(bottom=middle), pitch=size * rng.uniform(1.1, 1.6))
        layers = plate.layers(ink_tone(rng), rng, rng.uniform(0, 0.4))
    grey = np.float32(rng.uniform(0.3, 0.65)) * np.array((1, 1, 0.97), np.float32)
    grain = graphite(rng, plate.shape)
    layers.append(Layer(written(_writer(rng), rng, plate.shape), grey, "text", grain))
    if rng.random() < 0.35:
        sketch = plate.overlay()
        width = rng.uniform(1.0, 2.4)
        for _ in range(int(rng.integers(1, 5))):
            x, y = rng.uniform(plate.window[:2], plate.window[2:])
            side = rng.uniform(0.2, 0.8) * min(plate.shape)
            path = outline(rng, Box(x - side / 2, y - side / 2, x + side / 2, y + side / 2))
            if rng.random() < 0.4:
                path = wandering(rng, (x, y), rng.uniform(0, 7), 2 * side)
            sketch.curve("drawing", path, swelling(rng, len(path), width))
        layers.append(Layer(sketch.canvas("drawing"), grey, "drawing", grain))
    if rng.random() < 0.4:
        layers.append(Layer(_drawn_lines(rng, plate), grey, "line", grain))
    return layers


def _drawn_lines(rng: np.random.Generator, plate: Plate) -> np.ndarray:
    """Lines drawn by hand under words, beside them or across the page."""
    lines, longest = plate.overlay(), max(plate.shape)
    for _ in range(int(rng.integers(1, 7))):
        x, y = rng.uniform(plate.window[:2], plate.window[2:])
        angle = rng.normal(0, 0.03) + (np.pi / 2 if rng.random() < 0.25 else 0)
        path = wandering(rng, (x, y), angle, log_uniform(rng, 0.1 * longest, longest), bend=0.004)
        lines.curve("line", path, swelling(rng, len(path), rng.uniform(1.0, 3.0)))
    return lines.canvas("line")


def _writer(rng: np.random.Generator) -> Hand:
    """A writer with a pencil, whose strokes are almost of one width."""
    writer = hand(rng, log_uniform(rng, 9, 30))
    width = rng.uniform(1.1, 2.6)
    return replace(writer, widths=(0.8 * width, width), nib=None)


def graphite(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """The share of graphite that the paper took: grainy, and varying with pressure."""
    grains = smoothstep(
        noise(rng, shape, rng.uniform(1.5, 2.5)), rng.uniform(-2.2, -0.9), rng.uniform(0.2, 1)
    )
    pressed = 0.85 + np.float32(0.15) * clouds(rng, shape, 50, octaves=2)
    return np.clip((0.35 + 0.65 * grains) * pressed, 0.2, 1).astype(np.float32)
