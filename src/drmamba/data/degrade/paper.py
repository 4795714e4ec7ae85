"""What age and use do to a sheet: stains, foxing, blots, folds, rulings, dark margins and holes."""

from __future__ import annotations

import math

import numpy as np

from drmamba.data.fields import Field, blur, clouds, noise, smoothstep
from drmamba.data.layering import covered, darkened
from drmamba.data.page import Page

BROWNS = ((0.80, 0.62, 0.42), (0.62, 0.48, 0.36), (0.85, 0.75, 0.50), (0.55, 0.40, 0.25), (0.72, 0.68, 0.62))


def _grid(shape: tuple[int, int]) -> tuple[Field, Field]:
    """Row and column numbers, as (H, 1) and (1, W)."""
    return np.arange(shape[0], dtype=np.float32)[:, None], np.arange(shape[1], dtype=np.float32)[None, :]


def _spot(rng: np.random.Generator, shape: tuple[int, int], radius: float, ragged: float) -> Field:
    """Distance from a random centre in units of an uneven radius: below 1 is inside."""
    y, x = _grid(shape)
    squash, angle = rng.uniform(0.6, 1.4), rng.uniform(0, math.pi)
    y, x = y - np.float32(rng.uniform(0, shape[0])), x - np.float32(rng.uniform(0, shape[1]))
    u = (x * np.float32(math.cos(angle)) + y * np.float32(math.sin(angle))) * np.float32(squash / radius)
    v = (y * np.float32(math.cos(angle)) - x * np.float32(math.sin(angle))) * np.float32(1 / radius)
    distance: Field = np.sqrt(u * u + v * v)
    return distance + np.float32(ragged) * clouds(rng, shape, max(6.0, radius * 0.8), octaves=3)


def stain(page: Page, rng: np.random.Generator) -> Page:
    """Water, coffee or grease dried on the sheet, with or without the darker rim where it stopped."""
    size = min(page.shape)
    if rng.random() < 0.4:  # damp has crept in from a side
        edge = noise(rng, page.shape, size * rng.uniform(0.5, 1)) + 0.15 * clouds(
            rng, page.shape, size / 6, octaves=3
        )
        distance = edge + np.float32(rng.uniform(0.5, 1.8))
    else:
        distance = _spot(rng, page.shape, rng.uniform(0.08, 0.5) * size, rng.uniform(0.05, 0.25))
    soft = rng.uniform(0.03, 0.4)
    inside = 1 - smoothstep(distance, 1 - soft, 1 + soft)
    inside *= 1 + np.float32(0.15) * clouds(rng, page.shape, 24, octaves=2)
    strength = rng.uniform(0.2, 1)
    if rng.random() < 0.6:
        rim = np.exp(-(((distance - 1) / np.float32(rng.uniform(0.02, 0.08))) ** 2))
        inside += rim * np.float32(rng.uniform(0.2, 0.8))
    return Page(darkened(page.image, np.maximum(inside, 0), _browning(rng, strength)), page.ink)


def _browning(rng: np.random.Generator, strength: float) -> Field:
    colour = np.array(BROWNS[rng.integers(len(BROWNS))]) * rng.uniform(0.85, 1.1)
    return ((1 - np.minimum(colour, 1)) * strength).astype(np.float32)


def foxing(page: Page, rng: np.random.Generator) -> Page:
    """Many small brown specks, in swarms."""
    cell = rng.uniform(4, 14)
    swarm = smoothstep(clouds(rng, page.shape, 80, octaves=2), -0.5, 1.2)
    threshold = rng.uniform(1.1, 1.9)
    specks = smoothstep(
        noise(rng, page.shape, cell) + 0.3 * noise(rng, page.shape, 3), threshold, threshold + 0.7
    )
    return Page(darkened(page.image, specks * swarm, _browning(rng, rng.uniform(0.5, 1.2))), page.ink)


def blots(page: Page, rng: np.random.Generator) -> Page:
    """Drops and smears of ink that are no writing: dark, soft-edged, larger than a stroke is wide."""
    image = page.image
    for _ in range(int(rng.integers(1, 5))):
        distance = _spot(rng, page.shape, rng.uniform(4, 0.14 * min(page.shape) + 5), rng.uniform(0.1, 0.3))
        soft = rng.uniform(0.2, 0.7)
        inside = 1 - smoothstep(distance, 1 - soft, 1 + soft)
        inside *= 1 - np.float32(rng.uniform(0, 0.3)) * np.abs(noise(rng, page.shape, 8))
        tone = 1 + rng.uniform(-0.05, 0.2) * np.array([-1, 0, 1])  # black to brown
        image = darkened(image, np.clip(inside, 0, 1), np.minimum(rng.uniform(0.25, 0.8) * tone, 1))
    return Page(image, page.ink)


def folds(page: Page, rng: np.random.Generator) -> Page:
    """Creases: a dark valley beside a bright ridge, along slightly wavering lines."""
    y, x = _grid(page.shape)
    shade = np.zeros(page.shape, np.float32)
    for _ in range(int(rng.integers(1, 4))):
        angle = rng.choice((0, math.pi / 2)) + rng.normal(0, 0.06 if rng.random() < 0.7 else 0.6)
        through = rng.uniform(0, page.shape[0]), rng.uniform(0, page.shape[1])
        away = (y - np.float32(through[0])) * np.float32(math.cos(angle))
        away = away - (x - np.float32(through[1])) * np.float32(math.sin(angle))
        away = away + noise(rng, page.shape, 60) * np.float32(1.5)
        width, height = rng.uniform(1.2, 10), rng.uniform(0.04, 0.25)
        t = away * np.float32(1 / width)
        valley, ridge = np.exp(-t * t), np.exp(-((t - 1.8) ** 2))
        shade += np.float32(height) * (valley - np.float32(rng.uniform(0, 0.7)) * ridge)
        if rng.random() < 0.4:  # the sheet lies at another angle on one side of the crease
            shade += np.float32(rng.uniform(0.02, 0.12)) * smoothstep(t, -3, 3)
    return Page(darkened(page.image, shade, (1, 1, 1)), page.ink)


def rulings(page: Page, rng: np.random.Generator) -> Page:
    """Pale printed or drawn guide lines, which are not part of the writing."""
    y, x = _grid(page.shape)
    pitch = rng.uniform(14, 60)
    tilt = np.float32(rng.normal(0, 0.01))
    half = np.float32(rng.uniform(0.4, 0.9))

    def lines(along: Field) -> Field:
        gap = np.abs((along + np.float32(rng.uniform(0, pitch))) % np.float32(pitch) - np.float32(pitch / 2))
        line: Field = np.clip(half + np.float32(0.5) - gap, 0, 1)
        return line

    drawing = lines(y + x * tilt)
    if rng.random() < 0.4:  # squared paper
        drawing = np.maximum(drawing, lines(x - y * tilt))
    drawing *= np.clip(0.8 + np.float32(0.3) * noise(rng, page.shape, 30), 0, 1)
    tint = np.array(((0.9, 0.6, 0.3), (0.5, 0.5, 0.5), (0.2, 0.8, 0.8), (0.4, 0.6, 0.9))[rng.integers(4)])
    return Page(darkened(page.image, drawing, tint * rng.uniform(0.08, 0.4)), page.ink)


def margin(page: Page, rng: np.random.Generator) -> Page:
    """The page's edge: scanner black, a book's gutter, or another sheet beyond; what lies there is no ink."""
    side = int(rng.integers(4))
    turned_image, turned_ink = np.rot90(page.image, side), np.rot90(page.ink, side)
    y, x = _grid((turned_ink.shape[0], turned_ink.shape[1]))
    start = np.float32(rng.uniform(0.02, 0.2) * turned_ink.shape[0])
    edge = start + np.float32(rng.normal(0, 0.04)) * x + 2 * noise(rng, (1, x.shape[1]), rng.uniform(20, 200))
    away = y - edge  # pixels inside the page
    beyond = smoothstep(-away, -0.7, 0.7)
    shadow = np.exp(-np.maximum(away, 0) / np.float32(rng.uniform(2, 0.25 * min(page.shape))))
    image = darkened(turned_image, shadow, np.full(3, rng.uniform(0.1, 0.8)))
    shade = rng.choice((rng.uniform(0.0, 0.15), rng.uniform(0.3, 0.7), rng.uniform(0.8, 1)))
    colour = np.clip(shade * rng.normal(1, 0.02, 3), 0, 1).astype(np.float32)
    image = covered(image, beyond, colour)
    ink = turned_ink & (away > 0)
    return Page(np.ascontiguousarray(np.rot90(image, -side)), np.ascontiguousarray(np.rot90(ink, -side)))


def holes(page: Page, rng: np.random.Generator) -> Page:
    """Worm holes, tears and lost pieces: the ground beyond shows, and the ink there is gone."""
    shape, size = page.shape, min(page.shape)
    if rng.random() < 0.4:  # a tear that runs down or across
        y, x = _grid(shape)
        along, across = (y, x) if rng.random() < 0.6 else (x, y)
        middle = np.float32(rng.uniform(0.1, 0.9) * size) + np.float32(rng.normal(0, 0.1)) * along
        width = rng.uniform(0.01, 0.05) * size
        distance = np.abs(across - middle + clouds(rng, shape, 40) * np.float32(0.7 * width))
        distance = distance * np.float32(1 / width) + np.float32(0.7) * clouds(rng, shape, 50, octaves=3)
    else:
        distance = _spot(rng, shape, rng.uniform(0.03, 0.22) * size, rng.uniform(0.2, 0.5))
    open_ = 1 - smoothstep(distance, 0.94, 1.06)
    rim = 1 - smoothstep(distance, 0.95, rng.uniform(1.1, 1.4))
    ground = np.array(
        ((0.97, 0.97, 0.97), (0.66, 0.72, 0.73), (0.08, 0.08, 0.08), (0.5, 0.5, 0.5))[rng.integers(4)]
    )
    colour = np.clip(ground * rng.normal(1, 0.015, 3), 0, 1).astype(np.float32)
    image = darkened(page.image, rim, np.full(3, rng.uniform(0, 0.4)))
    return Page(covered(image, open_, colour), page.ink & (open_ < 0.5))


def erased(page: Page, rng: np.random.Generator) -> Page:
    """Random erasing: a rectangle is rubbed out to the colour around it, and its ink with it."""
    height, width = (int(rng.uniform(0.05, 0.35) * side) + 1 for side in page.shape)
    top, left = int(rng.integers(page.shape[0] - height + 1)), int(rng.integers(page.shape[1] - width + 1))
    inside = np.zeros(page.shape, np.float32)
    inside[top : top + height, left : left + width] = 1
    soft = blur(inside, rng.uniform(0.4, 1.5))
    bright = page.image[::4, ::4].reshape(-1, 3)
    paper = bright[bright.sum(1) >= np.median(bright.sum(1))].mean(0)
    grain = noise(rng, page.shape, 2)[..., None] * np.float32(rng.uniform(0, 0.03))
    fill = np.clip(paper * np.float32(rng.uniform(0.8, 1.1)) + grain, 0, 1)
    return Page(covered(page.image, soft, fill), page.ink & (soft < 0.5))
