"""Synthetic handwriting: an alphabet of made-up letters that one writer repeats, drawn with a nib."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from drmamba.compilation import compiled
from drmamba.data.page import Field

# (n, 2), x to the right and y: upwards in x-heights for letters, downwards in pixels for strokes on a page.
Points = NDArray[np.float64]

# Pen movements from the baseline back to it, x and y in turn, from which letters are made.
MOTIFS: dict[str, str] = {
    "i": "0 0.1  0.25 0.6  0.4 1  0.4 0.5  0.45 0.1  0.6 0  0.8 0.3",
    "n": "0 0.3  0.15 1  0.17 0.5  0.15 0  0.3 0.7  0.5 1  0.63 0.8  0.63 0.3  0.75 0  0.95 0.3",
    "a": "0.1 0.5  0.5 1  0.25 0.95  0.1 0.5  0.2 0.05  0.42 0.1  0.58 0.5  0.6 1  0.6 0.4  0.7 0  0.95 0.3",
    "e": "0 0.3  0.35 0.55  0.45 0.85  0.3 1  0.12 0.6  0.2 0.1  0.45 0  0.75 0.35",
    "l": "0 0.3  0.35 1.2  0.55 2  0.42 2.3  0.28 1.7  0.22 0.6  0.35 0  0.65 0.3",
    "g": "0.1 0.6  0.45 1  0.2 0.9  0.12 0.4  0.3 0.1  0.5 0.6  .52 .9  .5 -.2  .4 -1  0.2 -1.1  0.2 -0.6  0.85 0.3",
    "s": "0 0.2  0.35 1.05  0.36 0.7  0.5 0.35  0.4 0  0.2 0.1  0.45 0  0.75 0.3",
    "f": "0 0.3  0.4 1.4  0.7 2.2  0.55 2.35  0.4 1.6  0.25 -0.3  0.1 -1.1  0 -0.9  0.3 -0.1  0.7 0.3",
    "u": "0 0.3  0.3 1  0.28 0.4  0.35 0  0.55 0.2  0.68 1  0.67 0.4  0.75 0  0.95 0.3",
    "o": "0.1 0.9  0.5 1  0.2 0.95  0.08 0.5  0.2 0.05  0.5 0.1  0.65 0.55  0.5 0.95  0.4 0.8  0.9 0.7",
    "t": "0 0.3  0.3 1.3  0.35 1.7  0.3 0.7  0.35 0.05  0.55 0.05  0.75 0.35",
    "r": "0 0.2  0.2 1  0.3 1.05  0.55 0.95  0.5 0.5  0.55 0.1  0.8 0.25",
}


@dataclass(frozen=True)
class Hand:
    """One writer with one pen."""

    letters: tuple[Points, ...]
    x_height: float  # pixels
    slant: float  # shift to the right per unit of height
    widths: tuple[float, float]  # thinnest and broadest stroke, pixels
    nib: float | None  # angle of a broad nib in radians; None is a pointed pen that spreads on down-strokes
    shake: float  # standard deviation of the points of a letter, in x-heights
    spacing: float  # factor of the width of letters
    line: float  # distance of lines, in x-heights


def hand(rng: np.random.Generator, x_height: float) -> Hand:
    """A random writer: an alphabet of altered motifs, a slant and a pen."""
    alphabet = []
    motifs = [np.array(text.split(), np.float64).reshape(-1, 2) for text in MOTIFS.values()]
    for _ in range(int(rng.integers(14, 22))):
        points = motifs[rng.integers(len(motifs))].copy()
        inner = points[1:-1]
        inner += rng.normal(0, 0.07, inner.shape)
        points[:, 0] *= rng.uniform(0.8, 1.2)
        alphabet.append(points)
    broad = max(1.6, x_height * rng.uniform(0.1, 0.24))
    return Hand(
        letters=tuple(alphabet),
        x_height=x_height,
        slant=float(rng.normal(0.35, 0.25)),
        widths=(max(0.6, broad * rng.uniform(0.12, 0.85)), broad),
        nib=float(rng.normal(0.7, 0.2)) if rng.random() < 0.5 else None,
        shake=rng.uniform(0.01, 0.05),
        spacing=rng.uniform(0.75, 1.1),
        line=rng.uniform(2.4, 4.5),
    )


def written(writer: Hand, rng: np.random.Generator, shape: tuple[int, int], *, whole: bool = False) -> Field:
    """Lines of writing that fill (H, W), as the share of each pixel that ink covers.

    Lines are cut off at the edges as on part of a page, unless `whole` asks for a complete block of text.
    """
    strokes: list[Points] = []
    step = writer.x_height * writer.line
    baseline = 2.4 * writer.x_height if whole else rng.uniform(0, step)
    tilt = rng.normal(0, 0.005 if whole else 0.015)
    while baseline < shape[0] + (-1.2 if whole else 1.5) * writer.x_height:
        left = -rng.uniform(0, 4) * writer.x_height if rng.random() < 0.85 else rng.uniform(0, 0.5) * shape[1]
        right = shape[1] if rng.random() < 0.85 else rng.uniform(0.3, 1) * shape[1]
        if whole:
            left, right = max(0.0, left) * 0.3, right - 5 * writer.x_height  # room for the last word
        strokes += line_of_words(
            writer, rng, (left, right), baseline + rng.normal(0, 0.1) * writer.x_height, tilt
        )
        baseline += step * rng.uniform(0.9, 1.1)
    page = np.zeros(shape, np.float32)
    if strokes:
        trace(page, strokes, writer)
    return page


def line_of_words(
    writer: Hand, rng: np.random.Generator, span: tuple[float, float], baseline: float, tilt: float
) -> list[Points]:
    """The strokes of words from left to right, in pixels, y downwards."""
    placed = []
    x = span[0] / writer.x_height
    while x < span[1] / writer.x_height:
        strokes, width = _word(writer, rng)
        wave = rng.normal(0, 0.08)
        for points in strokes:
            across = (x + points[:, 0] + writer.slant * points[:, 1]) * writer.x_height
            down = baseline + tilt * across - (points[:, 1] + wave) * writer.x_height
            placed.append(np.stack([across, down], 1))
        x += width + rng.uniform(0.5, 1.3)
    return placed


def _word(writer: Hand, rng: np.random.Generator) -> tuple[list[Points], float]:
    """The strokes of a made-up word and its width, in x-heights."""
    run: list[Points] = []
    strokes: list[Points] = []
    x = 0.0
    for position in range(int(rng.integers(1, 9))):
        letter = writer.letters[rng.integers(len(writer.letters))].copy()
        letter += rng.normal(0, writer.shake, letter.shape)
        if position == 0 and rng.random() < 0.25:  # a capital
            letter = letter * (1.4, 1.9)
        top, letter_width = letter[:, 1].max(), letter[-1, 0]
        draw = rng.random()
        if draw < 0.12 and top < 1.5:  # a dot or an accent
            strokes.append(np.array([(x + 0.4, 1.5), (x + 0.43, 1.55), (x + 0.46, 1.6)]))
        elif draw < 0.5 and 1.5 < top < 2:  # a cross-stroke
            strokes.append(np.array([(x, 1.25), (x + 0.35, 1.3), (x + 0.8, 1.32)]))
        run.append(letter + np.array((x, 0)))
        x += letter_width * writer.spacing
        if rng.random() < 0.12:  # the pen is lifted
            strokes.append(np.concatenate(run))
            run = []
    if run:
        strokes.append(np.concatenate(run))
    if rng.random() < 0.03:  # underlined
        strokes.append(np.array([(0.0, -0.5), (x / 2, -0.55), (x, -0.45)]))
    return strokes, x


def trace(page: Field, strokes: list[Points], writer: Hand) -> None:
    """Draw strokes with the writer's pen, all at once, which is several times cheaper than one after the other."""
    steps = max(4, math.ceil(0.3 * writer.x_height))  # pieces of one to two pixels
    path, drawn = curves(strokes, steps)
    run = np.gradient(path, axis=0)
    length = np.maximum(np.hypot(run[:, 0], run[:, 1]), 1e-9)
    if writer.nib is None:
        press = np.clip(run[:, 1] / length, 0, 1) ** 1.5
    else:
        press = np.abs(run[:, 0] * math.sin(writer.nib) + run[:, 1] * math.cos(writer.nib)) / length
    # Pressure lags behind the movement, which also smooths the change from thin to thick.
    press = uniform_filter1d(press, max(1, steps // 2), mode="nearest")
    thin, broad = writer.widths
    radius = 0.5 * (thin + (broad - thin) * press)
    stamp(page, path, np.where(drawn, radius, 0.0))


def curves(strokes: list[Points], steps: int) -> tuple[Points, NDArray[np.bool_]]:
    """Catmull-Rom splines through the points of each stroke, with `steps` samples from one point to the next.

    All strokes come in one array; the second array is False where the pen is lifted until the next sample.
    """
    doubled = np.concatenate([p for s in strokes for p in (s[:1], s, s[-1:])])
    t = (np.arange(steps) / steps)[None, :, None]
    a, b, c, d = (doubled[k : len(doubled) - 3 + k, None, :] for k in range(4))
    path = 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
    pieces = np.ones(len(doubled) - 3, np.bool_)
    ends = np.cumsum([len(s) + 2 for s in strokes])[:-1]
    for back in (3, 2, 1):  # windows that reach into the next stroke
        pieces[ends - back] = False
    return path.reshape(-1, 2), np.repeat(pieces, steps)


@compiled(nogil=True)
def stamp(page: Field, path: Points, radius: NDArray[np.float64]) -> None:  # pragma: no cover - compiled
    """Draw a path of varying radius, except where that is 0; a pixel keeps its largest coverage."""
    height, width = page.shape
    for k in range(len(path) - 1):
        if radius[k] <= 0:
            continue
        x, y, r = path[k, 0], path[k, 1], radius[k]
        dx, dy = path[k + 1, 0] - x, path[k + 1, 1] - y
        square = max(dx * dx + dy * dy, 1e-12)
        top, bottom = min(y, y + dy) - r - 1, max(y, y + dy) + r + 2
        left, right = min(x, x + dx) - r - 1, max(x, x + dx) + r + 2
        for row in range(max(0, int(top)), min(height, int(bottom))):
            for column in range(max(0, int(left)), min(width, int(right))):
                px, py = column + 0.5 - x, row + 0.5 - y
                t = min(1.0, max(0.0, (px * dx + py * dy) / square))  # the nearest point of this segment
                far = math.sqrt((px - t * dx) ** 2 + (py - t * dy) ** 2)
                cover = min(1.0, max(0.0, r + 0.5 - far))
                if cover > page[row, column]:
                    page[row, column] = cover
