"""Degradations of the sheet: stains, foxing, blots, folds, rulings, dark margins, holes and erasing."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from drmamba.data.compositing import covered, darkened
from drmamba.data.degrade.passes import creased
from drmamba.data.filters import blur, smoothstep
from drmamba.data.page import Field, LabelledPage, Picture
from drmamba.data.wide_noise import clouds, noise

# Colours (RGB) of stains and foxing.
BROWNS = ((0.80, 0.62, 0.42), (0.62, 0.48, 0.36), (0.85, 0.75, 0.50), (0.55, 0.40, 0.25), (0.72, 0.68, 0.62))


def _grid(shape: tuple[int, int]) -> tuple[Field, Field]:
    """Row and column numbers, as (H, 1) and (1, W)."""
    return np.arange(shape[0], dtype=np.float32)[:, None], np.arange(shape[1], dtype=np.float32)[None, :]


class Spot(NamedTuple):
    """An irregular round spot: the part of the page it lies in, and the distance of pixels there from its centre."""

    part: tuple[slice, slice]
    distance: Field  # in units of an irregular radius, so that values below 1 are inside


def _spot(
    rng: np.random.Generator, shape: tuple[int, int], radius: float, ragged: float, reach: float
) -> Spot:
    """A spot at a random place, with its surroundings up to `reach` radii from its centre."""
    squash, angle = rng.uniform(0.6, 1.4), rng.uniform(0, math.pi)
    middle = [rng.uniform(0, side) for side in shape]
    far = radius * (reach + 3.5 * ragged) / min(squash, 1.0)
    part = tuple(
        slice(max(0, int(at - far)), max(1, min(side, int(at + far) + 2)))
        for at, side in zip(middle, shape, strict=True)
    )
    y, x = (
        np.arange(p.start, p.stop, dtype=np.float32) - np.float32(at)
        for p, at in zip(part, middle, strict=True)
    )
    y, x = y[:, None], x[None, :]
    u = (x * np.float32(math.cos(angle)) + y * np.float32(math.sin(angle))) * np.float32(squash / radius)
    v = (y * np.float32(math.cos(angle)) - x * np.float32(math.sin(angle))) * np.float32(1 / radius)
    distance: Field = np.sqrt(u * u + v * v)
    distance += np.float32(ragged) * clouds(rng, (len(y), x.shape[1]), max(6.0, radius * 0.8), octaves=3)
    return Spot((part[0], part[1]), distance)


def _length(rng: np.random.Generator, smallest: float, largest: float) -> float:
    """A log-uniform length in pixels, so that small ones occur on wide regions too."""
    return math.exp(rng.uniform(math.log(smallest), math.log(max(largest, smallest))))


def stain(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Dried water, coffee or grease, with or without a darker rim.

    A stain is as small as a few letters or as large as half of the region; small ones come in groups.
    """
    size = min(page.shape)
    image = page.image.copy()
    if rng.random() < 0.4:  # damp that crept in from one side
        edge = noise(rng, page.shape, size * rng.uniform(0.5, 1))
        edge += np.float32(0.15) * clouds(rng, page.shape, size / 6, octaves=3)
        spots = [Spot((slice(None), slice(None)), edge + np.float32(rng.uniform(0.5, 1.8)))]
    else:
        radius = _length(rng, 0.08 * min(size, 256), 0.5 * size)
        count = 1 if radius > 0.2 * size else int(rng.integers(1, 5))
        ragged = rng.uniform(0.05, 0.25)
        spots = [_spot(rng, page.shape, radius * rng.uniform(0.6, 1.0), ragged, 1.6) for _ in range(count)]
    soft = rng.uniform(0.03, 0.4)
    brown = _browning(rng, rng.uniform(0.2, 1))
    width = rng.uniform(0.02, 0.08) if rng.random() < 0.6 else 0.0
    height = np.float32(rng.uniform(0.2, 0.8))
    for part, distance in spots:
        inside = 1 - smoothstep(distance, 1 - soft, 1 + soft)
        shape = distance.shape[0], distance.shape[1]
        inside *= 1 + np.float32(0.15) * clouds(rng, shape, 24, octaves=2)
        if width:
            t = (distance - 1) * np.float32(1 / (2.2 * width))
            inside += height * np.maximum(1 - t * t, 0) ** 2  # about a Gaussian of this width
        image[part] = darkened(image[part], np.maximum(inside, 0), brown)
    return LabelledPage(image, page.ink)


def _browning(rng: np.random.Generator, strength: float) -> Field:
    colour = np.array(BROWNS[rng.integers(len(BROWNS))]) * rng.uniform(0.85, 1.1)
    return ((1 - np.minimum(colour, 1)) * strength).astype(np.float32)


def foxing(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Many small brown specks in clusters."""
    cell = rng.uniform(4, 14)
    swarm = smoothstep(clouds(rng, page.shape, 80, octaves=2), -0.5, 1.2)
    threshold = rng.uniform(1.1, 1.9)
    specks = smoothstep(
        noise(rng, page.shape, cell) + 0.3 * noise(rng, page.shape, 3), threshold, threshold + 0.7
    )
    return LabelledPage(darkened(page.image, specks * swarm, _browning(rng, rng.uniform(0.5, 1.2))), page.ink)


def blots(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Drops and smears of ink that are not writing: dark, soft-edged, and wider than a stroke."""
    image = page.image.copy()
    for _ in range(int(rng.integers(1, 5)) * (1 + min(page.shape) // 600)):
        radius = _length(rng, 4, 0.14 * min(page.shape) + 5)
        soft = rng.uniform(0.2, 0.7)
        part, distance = _spot(rng, page.shape, radius, rng.uniform(0.1, 0.3), 1 + soft)
        inside = 1 - smoothstep(distance, 1 - soft, 1 + soft)
        shape = distance.shape[0], distance.shape[1]
        inside *= 1 - np.float32(rng.uniform(0, 0.3)) * np.abs(noise(rng, shape, 8))
        tone = 1 + rng.uniform(-0.05, 0.2) * np.array([-1, 0, 1])  # black to brown
        dark = np.minimum(rng.uniform(0.25, 0.8) * tone, 1)
        image[part] = darkened(image[part], np.clip(inside, 0, 1), dark)
    return LabelledPage(image, page.ink)


def folds(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Creases: a dark valley beside a bright ridge, along slightly wavy lines."""
    shade = np.zeros(page.shape, np.float32)
    for _ in range(int(rng.integers(1, 4))):
        angle = rng.choice((0, math.pi / 2)) + rng.normal(0, 0.06 if rng.random() < 0.7 else 0.6)
        y, x = rng.uniform(0, page.shape[0]), rng.uniform(0, page.shape[1])
        down, across = math.cos(angle), -math.sin(angle)
        wobble = noise(rng, page.shape, 60) * np.float32(1.5)
        height = rng.uniform(0.04, 0.25)
        ridge = height * rng.uniform(0, 0.7)
        # The sheet may lie at another angle on one side of the crease.
        slope = rng.uniform(0.02, 0.12) if rng.random() < 0.4 else 0.0
        away = (down, across, -down * y - across * x)
        creased(shade, away, wobble, rng.uniform(1.2, 10), (height, ridge, slope))
    return LabelledPage(darkened(page.image, shade, (1, 1, 1)), page.ink)


def rulings(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Pale printed or drawn guide lines, which are never ink.

    They are at most 1.3 pixels wide and absorb at most about a quarter of the light. The rules of tables, forms and
    ledgers, which are ink under the convention `all`, are darker, so that labels do not contradict each other.
    """
    y, x = _grid(page.shape)
    pitch = rng.uniform(14, 60)
    tilt = np.float32(rng.normal(0, 0.01))
    half = np.float32(rng.uniform(0.3, 0.65))

    def lines(along: Field) -> Field:
        turns = (along + np.float32(rng.uniform(0, pitch))) * np.float32(1 / pitch)
        gap = np.abs(turns - np.floor(turns) - np.float32(0.5)) * np.float32(pitch)
        line: Field = np.clip(half + np.float32(0.5) - gap, 0, 1)
        return line

    drawing = lines(y + x * tilt)
    if rng.random() < 0.4:  # squared paper
        drawing = np.maximum(drawing, lines(x - y * tilt))
    drawing *= np.clip(0.8 + np.float32(0.3) * noise(rng, page.shape, 30), 0, 1)
    tint = np.array(((0.9, 0.6, 0.3), (0.5, 0.5, 0.5), (0.2, 0.8, 0.8), (0.4, 0.6, 0.9))[rng.integers(4)])
    return LabelledPage(darkened(page.image, drawing, tint * rng.uniform(0.08, 0.28)), page.ink)


def margin(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """What lies around a sheet: scanner black, a table, the gutter of a book, other sheets. None of it is ink.

    It is visible on one side, around a corner or on all sides, from a stripe of two pixels on. Half of the sheets are
    cut straight, the others are torn.
    """
    sides = int(rng.choice((1, 2, 4), p=(0.5, 0.35, 0.15)))
    first = int(rng.integers(4))
    shade = rng.choice((rng.uniform(0.0, 0.15), rng.uniform(0.15, 0.7), rng.uniform(0.8, 1)))
    ground = np.clip(shade * rng.normal(1, 0.04, 3), 0, 1).astype(np.float32)
    stacked = rng.random() < 0.3  # the edges of the other sheets of a book, one beside the other
    torn = rng.random() < 0.5
    for side in range(first, first + sides):
        page = _edge(page, rng, side % 4, ground, stacked=stacked, torn=torn)
    return page


def _edge(
    page: LabelledPage,
    rng: np.random.Generator,
    side: int,
    ground: NDArray[np.float32],
    *,
    stacked: bool,
    torn: bool,
) -> LabelledPage:
    """The ground beyond the edge of the sheet on one side of the picture, and the shadows along it.

    The sheet darkens towards its edge, and casts a narrow shadow on the ground. Where it is torn, the edge is ragged
    and shows its pale fibres.
    """
    y, x = _grid(page.shape)
    # The distance in pixels from that side of the picture.
    inward = (y, x, page.shape[0] - 1 - y, page.shape[1] - 1 - x)[side]
    along = (x, y, x, y)[side]
    start = _length(rng, 2, 0.2 * inward.size)
    tilt = rng.normal(0, 0.04) * rng.random()
    waves = _ragged(rng, along.size) if torn else 2 * noise(rng, (1, along.size), rng.uniform(20, 200))
    waves = waves.reshape(along.shape)
    # The distance in pixels from the sheet's edge.
    away = inward - (np.float32(start) + np.float32(tilt) * (along - along.size / 2) + waves)
    reach = _length(rng, 2, 0.25 * min(page.shape))
    dark = np.full(3, rng.uniform(0.1, 0.8))
    image = page.image.copy()
    # Only the rows or columns that the edge and its shadow reach are changed.
    reached = np.flatnonzero((away < 6 * reach + 2).any(axis=1 - side % 2))
    part = slice(reached[0], reached[-1] + 1) if len(reached) else slice(0, 0)
    where = (part, slice(None)) if side % 2 == 0 else (slice(None), part)
    near = away[where]
    image[where] = darkened(image[where], np.exp(-np.maximum(near, 0) * np.float32(1 / reach)), dark)
    beyond = _stacked_sheets(rng, near, ground) if stacked else np.broadcast_to(ground, image[where].shape)
    if rng.random() < 0.6:
        cast = np.exp(np.minimum(near, 0) * np.float32(1 / _length(rng, 1, 12)))
        beyond = darkened(beyond, cast, np.full(3, rng.uniform(0.3, 0.9)))
    if torn:
        rim = smoothstep(near, -0.5, 0.5) * (1 - smoothstep(near, 1, _length(rng, 2, 8)))
        image[where] = covered(
            image[where], rim * np.float32(rng.uniform(0, 0.7)), np.full(3, 0.85, np.float32)
        )
    image[where] = covered(image[where], smoothstep(-near, -0.7, 0.7), beyond)
    return LabelledPage(image, page.ink & (away > 0))


def _ragged(rng: np.random.Generator, length: int) -> Field:
    """How far a torn edge lies from a straight one, in pixels: ragged at every scale, with larger pieces missing."""
    size = _length(rng, 1.5, 0.02 * length)
    edge: Field = np.zeros((1, length), np.float32)
    for scale, cell in ((1.0, 12.0), (0.5, 4.0), (0.25, 1.5)):
        edge += np.float32(size * scale) * noise(rng, (1, length), max(2.0, cell * size))
    if rng.random() < 0.4:
        distance = np.abs(np.arange(length, dtype=np.float32) - np.float32(rng.uniform(0, length)))
        width = _length(rng, 10, 0.1 * length)
        depth = np.float32(width * rng.uniform(0.4, 1.2))
        edge += depth * (1 - smoothstep(distance, 0.6 * width, width))
    return edge


def _stacked_sheets(rng: np.random.Generator, away: Field, colour: NDArray[np.float32]) -> Picture:
    """Thin light and dark lines that run along an edge, by the distance from it, which is below 0 beyond it."""
    depth = np.maximum(-away, 0)
    lines = noise(rng, (1, int(depth.max(initial=0)) + 2), rng.uniform(1, 5))[0]
    wavy = depth + np.float32(rng.uniform(0, 4)) * clouds(rng, depth.shape, rng.uniform(30, 120))
    tone = 1 + np.float32(rng.uniform(0.1, 0.4)) * lines[np.clip(wavy, 0, len(lines) - 1).astype(np.intp)]
    sheets: Picture = np.clip(tone[:, :, None] * np.maximum(colour, np.float32(0.3)), 0, 1).astype(np.float32)
    return sheets


def holes(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Worm holes, tears and missing pieces, where the ground behind the sheet shows and the ink is gone."""
    shape, size = page.shape, min(page.shape)
    if rng.random() < 0.4:  # a tear that runs down or across
        y, x = _grid(shape)
        along, across = (y, x) if rng.random() < 0.6 else (x, y)
        middle = np.float32(rng.uniform(0.1, 0.9) * size) + np.float32(rng.normal(0, 0.1)) * along
        width = _length(rng, 2.5, 0.05 * size)
        distance = np.abs(across - middle + clouds(rng, shape, 40) * np.float32(0.7 * width))
        distance = distance * np.float32(1 / width) + np.float32(0.7) * clouds(rng, shape, 50, octaves=3)
        spots = [Spot((slice(None), slice(None)), distance)]
    else:
        radius = _length(rng, 0.03 * min(size, 256), 0.22 * size)
        count = 1 if radius > 0.1 * size else int(rng.integers(1, 6))  # small holes come in groups
        ragged = rng.uniform(0.2, 0.5)
        spots = [_spot(rng, shape, radius * rng.uniform(0.6, 1), ragged, 1.4) for _ in range(count)]
    ground = np.array(
        ((0.97, 0.97, 0.97), (0.66, 0.72, 0.73), (0.08, 0.08, 0.08), (0.5, 0.5, 0.5))[rng.integers(4)]
    )
    colour = np.clip(ground * rng.normal(1, 0.015, 3), 0, 1).astype(np.float32)
    far, dark = rng.uniform(1.1, 1.4), np.full(3, rng.uniform(0, 0.4))
    image, ink = page.image.copy(), page.ink.copy()
    for part, distance in spots:
        open_ = 1 - smoothstep(distance, 0.94, 1.06)
        rim = 1 - smoothstep(distance, 0.95, far)
        image[part] = covered(darkened(image[part], rim, dark), open_, colour)
        ink[part] &= open_ < 0.5
    return LabelledPage(image, ink)


def erased(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Random erasing: a rectangle is filled with the colour of the paper, and its ink is removed."""
    height, width = (int(rng.uniform(0.05, 0.35) * side) + 1 for side in page.shape)
    top, left = int(rng.integers(page.shape[0] - height + 1)), int(rng.integers(page.shape[1] - width + 1))
    edge = 5  # pixels by which the soft edge extends the rectangle
    part = (
        slice(max(0, top - edge), min(page.shape[0], top + height + edge)),
        slice(max(0, left - edge), min(page.shape[1], left + width + edge)),
    )
    shape = part[0].stop - part[0].start, part[1].stop - part[1].start
    inside = np.zeros(shape, np.float32)
    row, place = top - part[0].start, left - part[1].start
    inside[row : row + height, place : place + width] = 1
    soft = blur(inside, rng.uniform(0.4, 1.5))
    bright = page.image[::4, ::4].reshape(-1, 3)
    paper = bright[bright.sum(1) >= np.median(bright.sum(1))].mean(0)
    grain = noise(rng, shape, 2)[..., None] * np.float32(rng.uniform(0, 0.03))
    fill = np.clip(paper * np.float32(rng.uniform(0.8, 1.1)) + grain, 0, 1)
    image, ink = page.image.copy(), page.ink.copy()
    image[part] = covered(image[part], soft, fill)
    ink[part] &= soft < 0.5
    return LabelledPage(image, ink)
