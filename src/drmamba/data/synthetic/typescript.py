"""Typewritten pages and carbon copies, on which every letter is slightly displaced and differs in strength."""

from __future__ import annotations

import numpy as np

from drmamba.data.filters import blur, smoothstep
from drmamba.data.synthetic.layers import Layer, ink_tone
from drmamba.data.synthetic.plate import Box, Plate
from drmamba.data.synthetic.typecase import kept_sort, lay, some_words
from drmamba.data.synthetic.typography import Typography, log_uniform
from drmamba.data.wide_noise import clouds, noise


def typescript(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """Letters on a fixed grid, some crossed out or underlined, typed through a worn ribbon."""
    face = typography.face(rng, style="typewriter")
    size = int(log_uniform(rng, 14, 44))
    cell = max(1.0, kept_sort(face, size, "n").advance)
    pitch = size * rng.choice((1.1, 1.6, 2.1))
    jitter = rng.uniform(0, 0.03) * size
    uneven = rng.uniform(0, 0.35)
    page, seen = plate.page, plate.window
    shape, force = np.zeros(plate.shape, np.float32), np.zeros(plate.shape, np.float32)
    left = page.left + rng.uniform(0, 0.15) * page.width
    top = page.top + rng.uniform(0, 0.1) * page.height
    while top + pitch < page.bottom:
        room = int((page.right - left) / cell * rng.uniform(0.85, 1))
        if rng.random() < 0.9 and plate.sees(Box(page.left, top, page.right, top + 1.5 * size)):
            text = some_words(rng, face, room // 5 + 1)[: max(1, room)].rpartition(" ")[0] or "x"
            first = max(0, int((seen.left - left) / cell) - 1)
            last = int((seen.right - left) / cell) + 1
            ends = len(text) if rng.random() < 0.8 else int(rng.integers(1, len(text) + 1))
            draws = rng.normal(0, 1, (3, len(text)))
            for k in range(first, min(last, ends)):
                if text[k] == " ":
                    continue
                letter = kept_sort(face, size, text[k])
                x = left + k * cell + letter.offset + jitter * draws[0, k] - plate.corner[1]
                y = top + jitter * draws[1, k] - plate.corner[0]
                struck = letter.picture * np.float32(1 / 255)
                lay(shape, struck, x, y)
                lay(force, struck * np.float32(np.clip(1 - uneven * abs(draws[2, k]), 0.3, 1)), x, y)
            if rng.random() < 0.08 and ends > 6:  # crossed out, or underlined
                start = int(rng.integers(0, ends - 5))
                mark = kept_sort(face, size, "x" if rng.random() < 0.5 else "_")
                for k in range(start, min(ends, start + int(rng.integers(4, 14)))):
                    x = left + k * cell + mark.offset - plate.corner[1]
                    for canvas in (shape, force):
                        lay(canvas, mark.picture * np.float32(1 / 255), x, top - plate.corner[0])
        top += pitch
    spread = blur(shape, rng.uniform(0.3, 0.9) * max(0.6, size / 30))
    struck = smoothstep(spread, 0.2, rng.uniform(0.5, 0.8))
    texture = np.clip(blur(force, 1.0) / np.maximum(blur(shape, 1.0), np.float32(0.05)), 0.25, 1)
    ribbon = noise(rng, plate.shape, rng.uniform(2, 3.5)) * np.float32(rng.uniform(0.05, 0.25))
    ribbon += clouds(rng, plate.shape, 60, octaves=2) * np.float32(rng.uniform(0, 0.15))
    dark = ink_tone(rng, soot=rng.random() < 0.5) * np.float32(rng.uniform(0.6, 1))
    return [Layer(struck, dark, texture=np.clip(texture * (1 - np.abs(ribbon)), 0.35, 1))]
