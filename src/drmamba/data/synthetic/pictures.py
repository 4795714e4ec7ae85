"""Photographs beside text: as halftone dots, which are ink under `all`, or in continuous tone, which is never ink."""

from __future__ import annotations

import math

import numpy as np

from drmamba.data.filters import smoothstep
from drmamba.data.noise import ramp
from drmamba.data.page import Field
from drmamba.data.synthetic.drawings import beside_text
from drmamba.data.synthetic.layers import Kind, Layer, ink_tone
from drmamba.data.synthetic.plate import Plate
from drmamba.data.synthetic.typography import Typography, log_uniform
from drmamba.data.wide_noise import clouds, noise

RESOLVABLE = 4.0  # pixels from dot to dot; finer screens count as continuous tone
# Absorption of red, green and blue by the tones of photographs: grey, brown and blue.
PHOTOGRAPH_TONES = ((0.85, 0.86, 0.87), (0.70, 0.78, 0.86), (0.80, 0.74, 0.68))


def photographed(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    """The darkness (0 to 1) of a synthetic photograph: soft bodies on a background, lit from one side."""
    size = max(min(shape), 120)
    tone = 0.4 + np.float32(0.25) * ramp(rng, shape) + np.float32(0.12) * clouds(rng, shape, 0.5 * size)
    y, x = (np.arange(n, dtype=np.float32) for n in shape)
    for _ in range(int(rng.integers(2, 7))):
        middle, radius = rng.uniform(0, 1, 2) * shape, rng.uniform(0.08, 0.45, 2) * size
        down = (y - np.float32(middle[0]))[:, None] * np.float32(1 / radius[0])
        across = (x - np.float32(middle[1]))[None, :] * np.float32(1 / radius[1])
        away = np.sqrt(down * down + across * across)
        body = 1 - smoothstep(away, 0.9, 1 + rng.uniform(0.02, 0.3))
        light = np.float32(rng.uniform(0.1, 0.9)) + np.float32(rng.uniform(-0.3, 0.3)) * (across + down)
        tone += body * (light - tone)
    tone += np.float32(0.04) * noise(rng, shape, 3)
    return np.clip(tone * rng.uniform(0.8, 1.2) + rng.uniform(-0.1, 0.1), 0, 1).astype(np.float32)


def screened(tone: Field, pitch: float, angle: float) -> Field:
    """Halftone dots of one pitch, which grow with the tone until only white dots are left between them."""
    y = np.arange(tone.shape[0], dtype=np.float32)[:, None] * np.float32(2 * math.pi / pitch)
    x = np.arange(tone.shape[1], dtype=np.float32)[None, :] * np.float32(2 * math.pi / pitch)
    c, s = np.float32(math.cos(angle)), np.float32(math.sin(angle))
    waves = (np.cos(x * c + y * s) + np.cos(y * c - x * s)) * np.float32(0.25) + np.float32(0.5)
    dots: Field = np.clip((tone - 1 + waves) * np.float32(pitch * 0.6) + np.float32(0.5), 0, 1)
    return dots


def halftone(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """A printed photograph, with dots that can be resolved or a screen too fine for that."""
    pitch = log_uniform(rng, RESOLVABLE, 11) if rng.random() < 0.85 else rng.uniform(2.2, 3.2)
    return _picture(typography, rng, plate, pitch)


def photograph(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """A photograph in continuous tone, printed or glued in."""
    return _picture(typography, rng, plate, None)


def _picture(
    typography: Typography, rng: np.random.Generator, plate: Plate, pitch: float | None
) -> list[Layer]:
    box = beside_text(typography, rng, plate, most=0.85)
    part = plate.part(box.inset(rng.uniform(0, 0.04) * box.width))
    ink = ink_tone(rng, soot=rng.random() < 0.8)
    layers = plate.layers(ink, rng, rng.uniform(0, 0.5))
    canvas = np.zeros(plate.shape, np.float32)
    seen = canvas[part]
    if min(seen.shape) < 4:
        return layers
    tone = photographed(rng, (seen.shape[0], seen.shape[1]))
    kind: Kind = "tone" if pitch is None or pitch < RESOLVABLE else "drawing"
    canvas[part] = tone if pitch is None else screened(tone, pitch, rng.choice((0.26, 0.785, 0.0, 1.3)))
    colour = np.array(PHOTOGRAPH_TONES[int(rng.integers(3))], np.float32) if pitch is None else ink
    layers.append(Layer(canvas, colour, kind))
    if rng.random() < 0.3:
        frame = plate.overlay()
        frame.rectangle("line", box, rng.uniform(1, 4))
        layers += frame.layers(ink, rng, 0.0)
    return layers
