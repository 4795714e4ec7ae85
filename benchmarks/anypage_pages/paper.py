"""Paper made from arithmetic: clouds of tone, fibres, spots, folds, stains with tide lines, toned edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy import fft, ndimage

Field = NDArray[np.float32]  # (H, W)
Shape = tuple[int, int]  # rows and columns

# Light that papers reflect, red to blue, from 0 to 255.
WHITE, CREAM, NEWSPRINT, OLD, GREY = (
    (236, 235, 230), (228, 219, 196), (208, 197, 172), (204, 184, 148), (200, 200, 198),
)  # fmt: skip


def enlarge(small: Field, shape: Shape) -> Field:
    """A field brought to another size, smoothly."""
    picture = Image.fromarray(small.astype(np.float32)).resize(shape[::-1], Image.Resampling.BICUBIC)
    return np.asarray(picture, np.float32)


def clouds(rng: np.random.Generator, shape: Shape, slope: float = 1.6, shrink: int = 4) -> Field:
    """Noise whose power falls with frequency by `slope`; its mean is 0 and its deviation is 1."""
    rows, columns = (fft.next_fast_len(max(16, side // shrink), real=True) for side in shape)
    spectrum = fft.rfft2(rng.standard_normal((rows, columns), np.float32))
    across, down = fft.rfftfreq(columns, 1 / columns), fft.fftfreq(rows, 1 / rows)
    square = (down[:, None] ** 2 + across[None, :] ** 2).astype(np.float32)
    square[0, 0] = 1
    field = fft.irfft2(spectrum * square ** (-slope / 2), s=(rows, columns))
    return enlarge((field - field.mean()) / field.std(), shape)


def tooth(rng: np.random.Generator, shape: Shape) -> Field:
    """Noise from pixel to pixel, as the tooth of paper gives it to ink; its deviation is 1."""
    white = rng.standard_normal(shape, np.float32)
    return (white + np.roll(white, 1, 0) + np.roll(white, 1, 1)) / np.float32(1.7)


def fibres(rng: np.random.Generator, shape: Shape, per_megapixel: int = 500) -> Field:
    """Short bent fibres, darker or lighter than the paper around them."""
    picture = Image.new("L", shape[::-1], 128)
    draw = ImageDraw.Draw(picture)
    for _ in range(int(per_megapixel * shape[0] * shape[1] / 1e6)):
        x, y = rng.uniform(0, shape[1]), rng.uniform(0, shape[0])
        angle, bend, length = rng.uniform(0, np.pi), rng.normal(0, 0.5), rng.uniform(6, 28)
        steps = np.linspace(0, 1, 5)
        turns = angle + bend * steps
        points = list(
            zip(x + length * steps * np.cos(turns), y + length * steps * np.sin(turns), strict=True)
        )
        draw.line(points, int(128 + rng.choice([-1, 1]) * rng.uniform(25, 90)), 1)
    soft: Field = ndimage.gaussian_filter((np.asarray(picture, np.float32) - 128) / 128, 0.8)
    return soft


def make_paper(
    rng: np.random.Generator, shape: Shape, colour: tuple[int, int, int], age: float
) -> NDArray[np.float32]:
    """The bare paper, (H, W, 3) from 0 to 255; age 0 is new, 1 is old."""
    light = 1 + (0.012 + 0.03 * age) * clouds(rng, shape, 1.5)
    light += (0.015 + 0.03 * age) * fibres(rng, shape)
    light += 0.008 * rng.standard_normal(shape, np.float32)
    if age > 0.25:
        light *= 1 - 0.22 * age * toned_edges(rng, shape)
        light *= 1 - spots(rng, shape, int(30 * age))
    warmth = np.clip(clouds(rng, shape, 2.0, 8), -2, 2) * 0.015 * age  # tone and colour change together
    paper = np.empty((*shape, 3), np.float32)
    for channel, value in enumerate(colour):
        paper[..., channel] = value * light * (1 - warmth * channel)
    return paper


def toned_edges(rng: np.random.Generator, shape: Shape) -> Field:
    """1 at the edges of the sheet, 0 in its middle, as old paper browns."""
    down = np.minimum(np.arange(shape[0]), np.arange(shape[0])[::-1])[:, None] / shape[0]
    across = np.minimum(np.arange(shape[1]), np.arange(shape[1])[::-1])[None, :] / shape[1]
    distance = np.minimum(down, across) * (1 + 0.25 * clouds(rng, shape, 1.8, 8))
    return np.asarray(np.exp(-np.clip(distance, 0, 1) / 0.05), np.float32)


def spots(rng: np.random.Generator, shape: Shape, count: int) -> Field:
    """Brown spots of foxing: the share of light that each takes away."""
    result = np.zeros(shape, np.float32)
    for _ in range(count):
        radius = float(rng.gamma(2.0, 4.0) + 2)
        reach = int(3 * radius) + 1
        y, x = int(rng.integers(shape[0])), int(rng.integers(shape[1]))
        rows = slice(max(0, y - reach), min(shape[0], y + reach))
        columns = slice(max(0, x - reach), min(shape[1], x + reach))
        grid_y, grid_x = np.mgrid[rows, columns]
        distance = ((grid_y - y) ** 2 + (grid_x - x) ** 2) / radius**2
        result[rows, columns] = np.maximum(result[rows, columns], rng.uniform(0.05, 0.22) * np.exp(-distance))
    return result


def fold(rng: np.random.Generator, shape: Shape, level: bool) -> Field:
    """One fold across the sheet: a thin dark crease beside a lighter ridge, as a factor of the light."""
    length, width = (shape[1], shape[0]) if level else shape
    place = width * rng.uniform(0.3, 0.7) + rng.normal(0, 1.5) * np.sin(
        np.linspace(0, rng.uniform(2, 9), length)
    )
    offset = np.arange(width, dtype=np.float32)[:, None] - place[None, :].astype(np.float32)
    factor = 1 - 0.16 * np.exp(-(offset**2) / 3) + 0.05 * np.exp(-((offset - 5) ** 2) / 12)
    return (factor if level else factor.T).astype(np.float32)


def stain(rng: np.random.Generator, shape: Shape, *, share: float, depth: float, edge: float) -> Field:
    """A liquid's stain over a share of the page, from one side, with a darker tide line at its edge.

    The result is the factor of light: `depth` is lost inside, and `edge` more at the line.
    """
    angle = rng.choice([0, 0.5, 1, 1.5]) * np.pi + rng.normal(0, 0.25)
    y, x = np.mgrid[0 : shape[0], 0 : shape[1]].astype(np.float32)
    y, x = y / shape[0] - 0.5, x / shape[1] - 0.5
    height = np.cos(angle) * x + np.sin(angle) * y + 0.07 * clouds(rng, shape, 1.7, 6)
    level = np.quantile(height[::8, ::8], 1 - share)
    distance = (height - level) * max(shape)  # pixels, about
    inside = 1 / (1 + np.exp(-distance / 4))
    body = depth * inside * (0.85 + 0.12 * clouds(rng, shape, 1.4, 4))
    line = edge * np.exp(-((distance - 8) ** 2) / rng.uniform(40, 160))
    return np.asarray(1 - np.clip(body + line, 0, 0.75), np.float32)


def uneven_light(rng: np.random.Generator, shape: Shape, strength: float) -> Field:
    """Light that falls off to one side, as a factor."""
    angle = rng.uniform(0, 2 * np.pi)
    y, x = np.linspace(-0.5, 0.5, shape[0])[:, None], np.linspace(-0.5, 0.5, shape[1])[None, :]
    slope = np.cos(angle) * x + np.sin(angle) * y
    light = 1 - strength * (0.5 - slope * 0.8) + 0.02 * strength * clouds(rng, shape, 2.0, 8)
    return np.asarray(light, np.float32)
