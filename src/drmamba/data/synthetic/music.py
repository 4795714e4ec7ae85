"""Sheet music: staves, notes, bars and lyrics. Only the lyrics are text."""

from __future__ import annotations

import math

import numpy as np

from drmamba.data.synthetic.galley import Galley, headline
from drmamba.data.synthetic.layers import Layer, ink_tone
from drmamba.data.synthetic.plate import Box, Plate
from drmamba.data.synthetic.typecase import set_type
from drmamba.data.synthetic.typography import Typography, log_uniform

# A treble clef as a pen draws it: x and y in gaps of the staff, y upwards from its second line.
_CLEF = """
    0.2 0  -0.4 0.5  0 1  0.7 0.7  0.8 0  0.2 -0.8  -0.8 -0.7  -1.2 0.3  -0.6 1.6  0.5 2.8  0.7 4  0.3 4.9
    -0.1 4.3  0 3  0.4 0  0.7 -1.8  0.3 -2.7  -0.4 -2.5  -0.3 -2
"""
CLEF = np.array(_CLEF.split(), np.float64).reshape(-1, 2)


def music(typography: Typography, rng: np.random.Generator, plate: Plate) -> list[Layer]:
    """Staves with notes, with or without lyrics."""
    page = plate.page
    gap = log_uniform(rng, 5, 16)
    line, stem = max(0.9, gap * rng.uniform(0.08, 0.2)), max(1.0, gap * rng.uniform(0.1, 0.22))
    face = typography.face(rng)
    size = int(max(8, gap * rng.uniform(1.2, 2)))
    words = Galley(rng, face, size, plate, page.width) if rng.random() < 0.6 else None
    top = page.top + 3 * gap
    if rng.random() < 0.4:
        top += headline(plate, rng, typography.face(rng, style="heavy"), page, int(gap * rng.uniform(2, 6)))
    step = gap * (rng.uniform(9, 14) + (2 if words else 0))
    while top + 5 * gap < page.bottom:
        if plate.sees(Box(page.left, top - 5 * gap, page.right, top + 10 * gap)):
            for k in range(5):
                plate.line("line", (page.left, top + k * gap), (page.right, top + k * gap), line)
            clef = CLEF * (gap, -gap) + (page.left + 2 * gap, top + 3 * gap)
            plate.curve("drawing", _smooth(clef), stem * 1.6)
            _notes(rng, plate, Box(page.left + 5 * gap, top, page.right, top + 4 * gap), gap, stem)
            if words:
                _lyrics(rng, plate, words, top + 6.5 * gap)
        top += step
    return plate.layers(ink_tone(rng, soot=rng.random() < 0.6), rng, rng.uniform(0, 0.5) * min(1, gap / 10))


def _notes(rng: np.random.Generator, plate: Plate, staff: Box, gap: float, stem: float) -> None:
    """Notes from left to right, some of them beamed, with bars between them."""
    x, place = staff.left, float(rng.uniform(0, 8))
    until = 0  # remaining notes under the beam
    last: tuple[float, float] | None = None
    up = True
    while x < staff.right - 2 * gap:
        place = float(np.clip(place + rng.normal(0, 2), -2, 10))
        y = staff.bottom - round(place) * gap / 2
        if until == 0:
            up, last = place < 4, None
            until = int(rng.integers(2, 5)) if rng.random() < 0.4 else 0
            beamed = until > 0
        _head(plate, x, y, gap, hollow=not beamed and rng.random() < 0.25, stroke=stem)
        side = x + 0.55 * gap if up else x - 0.55 * gap
        end = y - 3.3 * gap if up else y + 3.3 * gap
        if beamed:
            end = staff.top - 2.5 * gap if up else staff.bottom + 2.5 * gap
            until -= 1
            if last is not None:
                plate.line("drawing", last, (side, end), 0.5 * gap)
            last = (side, end)
        plate.line("drawing", (side, y), (side, end), stem)
        if not beamed and rng.random() < 0.3:  # a flag
            bent = end + (1.8 * gap if up else -1.8 * gap)
            plate.curve(
                "drawing", [(side, end), (side + 0.5 * gap, (end + bent) / 2), (side + gap, bent)], 1.6 * stem
            )
        for ledger in range(-2, int((y - staff.bottom) / gap) * -2, -2):
            plate.line(
                "line",
                (x - gap, staff.bottom - ledger * gap / 2),
                (x + gap, staff.bottom - ledger * gap / 2),
                stem,
            )
        x += gap * rng.uniform(2, 4.5)
        if until == 0 and rng.random() < 0.2:
            plate.line("line", (x, staff.top), (x, staff.bottom), stem)
            x += 1.8 * gap


def _head(plate: Plate, x: float, y: float, gap: float, *, hollow: bool, stroke: float) -> None:
    """The head of a note, slanted to the right."""
    if not plate.sees(Box(x - gap, y - gap, x + gap, y + gap)):
        return
    if not hollow:
        plate.curve("drawing", [(x - 0.2 * gap, y + 0.1 * gap), (x + 0.2 * gap, y - 0.1 * gap)], 0.85 * gap)
        return
    turn = np.linspace(0, 2 * math.pi, 14)
    ring = np.stack(
        [x + 0.6 * gap * np.cos(turn), y + 0.4 * gap * np.sin(turn) - 0.15 * gap * np.cos(turn)], 1
    )
    plate.curve("drawing", ring, 1.5 * stroke)


def _lyrics(rng: np.random.Generator, plate: Plate, words: Galley, top: float) -> None:
    """Words with wide gaps between them."""
    x = plate.page.left
    while x < plate.page.right:
        word = words.line(rng, words.size * rng.uniform(2, 6))
        plate.paste("text", word, x, top)
        if rng.random() < 0.2:
            plate.paste(
                "text", set_type(words.face, words.size, "-"), x + word.shape[1] + 0.5 * words.size, top
            )
        x += word.shape[1] + words.size * rng.uniform(1, 3)


def _smooth(points: np.ndarray) -> np.ndarray:
    """A smooth line with more points than the given one."""
    place = np.arange(len(points))
    fine = np.linspace(0, len(points) - 1, 6 * len(points))
    path = np.stack([np.interp(fine, place, points[:, k]) for k in range(2)], 1)
    kernel = np.hanning(9) / np.hanning(9).sum()
    padded = np.pad(path, ((4, 4), (0, 0)), mode="edge")
    return np.stack([np.convolve(padded[:, k], kernel, "valid") for k in range(2)], 1)
