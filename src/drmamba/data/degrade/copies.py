"""Degradations by copying: photocopies, microfilm, photographs, spectral bands, and files that were never on paper.

None of them moves the ink.
"""

from __future__ import annotations

import math

import numpy as np

from drmamba.data.compositing import darkened
from drmamba.data.degrade.ink import Verso, shining_through
from drmamba.data.degrade.passes import enlarged
from drmamba.data.filters import blur, smoothstep
from drmamba.data.noise import ramp
from drmamba.data.page import Field, LabelledPage, Picture
from drmamba.data.wide_noise import clouds, noise, white

LEAST_CONTRAST = 0.05  # difference in brightness between ink and paper, below which a copy would lose the ink
PALEST, PALE = 0.025, 0.16  # shares of full brightness; the contrast of ink on pages that are pale throughout
# The contrast that inference gives to a page of pale ink, and the gain at most (`model.ink_contrast` of `lite`).
SHOWN_CONTRAST, LARGEST_GAIN = 0.25, 5.0


def _levels(page: LabelledPage) -> tuple[float, float]:
    """The mean brightness of ink and of paper; 0.1 and 0.9 where one of them is missing."""
    ink, image = page.ink[::3, ::3], page.image[::3, ::3]
    if not ink.any() or ink.all():
        return 0.1, 0.9
    return float(image[ink].mean()), float(image[~ink].mean())


def _grey(page: LabelledPage) -> Field:
    flat: Field = page.image @ np.array((0.3, 0.59, 0.11), np.float32)
    return flat


def _as_picture(flat: Field) -> Picture:
    return np.repeat(np.clip(flat, 0, 1)[..., None], 3, 2)


def photocopy(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """A photocopy: hard contrast, specks of toner, strokes with gaps, and streaks of a worn drum.

    Ink that the copy lost in part remains in the ground truth, and enough of every stroke remains visible.
    """
    dark, light = _levels(page)
    span = max(light - dark, LEAST_CONTRAST)
    middle = dark + span * rng.uniform(0.4, 0.65)
    # Faint ink gets only a little more contrast, or paper of uneven brightness would turn black.
    hard = rng.uniform(0.15, 0.5) + 0.4 * max(0.0, 0.3 - span)
    flat = _grey(page)
    if rng.random() < 0.5:
        flat = blur(flat, rng.uniform(0.4, 0.9))
    toner = 1 - smoothstep(flat, middle - hard * max(span, 0.3), middle + hard * max(span, 0.3))
    shape = page.shape
    if rng.random() < 0.6:  # dropouts
        thin = smoothstep(noise(rng, shape, rng.uniform(2, 4)), rng.uniform(1.0, 1.6), 2.2)
        thin *= smoothstep(clouds(rng, shape, 60, octaves=2), -0.5, 0.8)
        toner *= 1 - np.float32(rng.uniform(0.3, 0.75)) * thin
    specks = smoothstep(noise(rng, shape, rng.uniform(1.2, 2.2)), rng.uniform(2.3, 3.0), 3.2)
    toner = np.maximum(toner, specks * np.float32(rng.uniform(0.4, 0.9)))
    if rng.random() < 0.4:
        toner = np.maximum(toner, _streaks(rng, shape))
    if rng.random() < 0.4:  # a grey veil
        toner += np.float32(rng.uniform(0.02, 0.12)) * (1 + clouds(rng, shape, 0.4 * max(shape), octaves=2))
    black = np.float32(rng.uniform(0.02, 0.2))
    return LabelledPage(_as_picture(1 - np.clip(toner, 0, 1) * (1 - black)), page.ink)


def _streaks(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    """Thin pale lines that run down the whole sheet, with gaps."""
    columns = np.zeros(shape[1], np.float32)
    for _ in range(1 + int(rng.integers(1, 4) * shape[1] / 500)):
        columns[int(rng.integers(shape[1]))] = rng.uniform(0.1, 0.4)
    wide = blur(columns[None, :], rng.uniform(0.3, 0.8))
    broken = np.clip(0.7 + np.float32(0.5) * noise(rng, (shape[0], 1), 60), 0, 1)
    streaks: Field = wide * broken
    return streaks


def microfilm(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Microfilm: grey, of uneven density, with grain, scratches and dust."""
    shape = page.shape
    density = 1 + np.float32(rng.uniform(0, 0.2)) * ramp(rng, shape)
    density += np.float32(rng.uniform(0.03, 0.12)) * clouds(
        rng, shape, rng.uniform(0.3, 0.8) * max(shape), octaves=2
    )
    flat = blur(_grey(page), rng.uniform(0.4, 1.0))
    dark, light = _levels(page)
    # The film has less contrast than the page, but never so little that ink is lost.
    span = max(rng.uniform(0.45, 1.0), min(1.0, LEAST_CONTRAST / max(light - dark, LEAST_CONTRAST)))
    flat = (flat * np.float32(span) + np.float32(rng.uniform(0, 1 - span))) * density
    contrast = max((light - dark) * span, LEAST_CONTRAST)
    flat += noise(rng, shape, rng.uniform(1.5, 2.5)) * np.float32(
        min(rng.uniform(0.01, 0.05), 0.4 * contrast)
    )
    for _ in range(int(rng.integers(0, 5))):
        flat += _scratch(rng, shape) * np.float32(rng.choice((-1, 1)) * rng.uniform(0.1, 0.5) * contrast)
    if rng.random() < 0.6:
        dust = smoothstep(white(rng, shape), 3.3, 3.8)
        flat += blur(dust, rng.uniform(0.5, 1.0)) * np.float32(rng.choice((-1, 1)) * rng.uniform(0.5, 2))
    return LabelledPage(_as_picture(flat), page.ink)


def _scratch(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    """One long, hair-thin, almost straight line along the film."""
    rows = np.arange(shape[0], dtype=np.float32)
    path = rng.uniform(0, shape[1]) + rng.normal(0, 0.02) * rows + 2 * noise(rng, (1, shape[0]), 80)[0]
    across = np.arange(shape[1], dtype=np.float32)
    line: Field = np.clip(
        np.float32(rng.uniform(0.7, 1.4)) - np.abs(across[None, :] - path[:, None].astype(np.float32)), 0, 1
    )
    end = np.sort(rng.uniform(-0.3, 1.3, 2)) * shape[0]
    line[(rows < end[0]) | (rows > end[1])] = 0
    return line


def snapshot(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """A hand-held photograph: light falls off, a hand or a telephone casts a shadow, and there is glare."""
    shape = page.shape
    light = 1 + np.float32(rng.uniform(0.05, 0.4)) * ramp(rng, shape)
    if rng.random() < 0.7:
        light *= 1 - np.float32(rng.uniform(0.15, 0.6)) * _shadow(rng, shape)
    light *= np.float32(rng.uniform(0.75, 1.0)) / light.max()
    tint = 1 + rng.normal(0, 0.05) * np.array((1.0, 0.0, -1.0))  # warm or cold light
    image = darkened(page.image, 1 - light, np.clip(tint, 0.8, 1.2))
    if rng.random() < 0.35:
        glare = _shadow(rng, shape) * np.float32(min(rng.uniform(0.1, 0.45), 1 - LEAST_CONTRAST))
        image = image + glare[..., None] * (1 - image)
    return LabelledPage(np.clip(image, 0, 1), page.ink)


def pale(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """A picture in which all ink is pale: washed-out ink, a bad exposure, or one spectral band of a camera.

    There is no darker ink beside it, so being pale does not make it the other side's. The picture has as many grey
    levels as a file has. Half of these pictures are shown with more contrast, as inference shows a pale page.
    """
    grey = rng.random() < 0.6
    image = _as_picture(_grey(page)) if grey else page.image
    dark, light = _levels(page)
    present = max(light - dark, LEAST_CONTRAST)
    left = min(float(np.exp(rng.uniform(np.log(PALEST), np.log(PALE)))), present)
    brightness = np.float32(rng.uniform(0.3, 0.95) if grey else rng.uniform(0.6, 0.95))
    image = brightness + np.float32(left / present) * (image - np.float32(light))
    speckle = noise(rng, page.shape, rng.uniform(1.2, 2.2)) if rng.random() < 0.5 else white(rng, page.shape)
    image = image + (np.float32(rng.uniform(0.03, 0.4) * left) * speckle)[..., None]
    image = np.round(image * 255) / np.float32(255)
    if rng.random() < 0.5:
        image = _shown(image, brightness, left)
    return LabelledPage(np.clip(image, 0, 1).astype(np.float32), page.ink)


def blank_side(sheet: Picture, verso: Verso, rng: np.random.Generator) -> LabelledPage:
    """A side on which nothing is written: a blank sheet through which the other side's ink is seen, never sharply.

    Half of these pictures are shown with more contrast, because inference takes them for pages of pale ink.
    """
    page = LabelledPage(sheet, np.zeros(sheet.shape[:2], bool))
    image = shining_through(page, verso, rng, rng.uniform(0.1, 0.6), rng.uniform(0.9, 2.5)).image
    if rng.random() < 0.5:
        dark, light = np.percentile(image[::3, ::3].mean(2), [5, 95])
        image = np.clip(_shown(image, np.float32(light), max(float(light - dark), 1 / 255)), 0, 1)
    return LabelledPage(image, page.ink)


def _shown(image: Picture, paper: np.float32, contrast: float) -> Picture:
    """The picture with the contrast that inference gives to so little; paper of the given brightness keeps it."""
    gain = np.float32(np.clip(SHOWN_CONTRAST / contrast, 1, LARGEST_GAIN))
    return paper + gain * (image - paper)


def _shadow(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    """A mask that is 1 inside the shadow of fingers or of a straight-edged object, with a more or less soft edge.

    It is made on a coarse grid, because a shadow has no detail.
    """
    step = 4 if max(shape) > 128 else 1
    small = shape[0] // step + 1, shape[1] // step + 1
    y = np.linspace(0, shape[0] / max(shape), small[0], dtype=np.float32)[:, None]
    x = np.linspace(0, shape[1] / max(shape), small[1], dtype=np.float32)[None, :]
    angle = rng.uniform(0, 2 * math.pi)
    c, s = np.float32(math.cos(angle)), np.float32(math.sin(angle))
    y, x = y - np.float32(rng.uniform(0, 1)), x - np.float32(rng.uniform(0, 1))
    along, across = x * c + y * s, y * c - x * s
    if rng.random() < 0.5:  # a straight edge, or the corner of a telephone
        away = along if rng.random() < 0.5 else np.maximum(np.abs(along) - 0.35, np.abs(across) - 0.2)
    else:  # fingers side by side
        away = np.full(small, np.float32(9))
        for k in range(int(rng.integers(1, 5))):
            reach, radius = rng.uniform(-0.1, 0.3), rng.uniform(0.04, 0.09)
            tip = np.maximum(along - np.float32(reach), 0)
            away = np.minimum(away, np.hypot(tip, across - np.float32(0.17 * k - 0.25)) - np.float32(radius))
    soft = math.exp(rng.uniform(math.log(0.01), math.log(0.25)))
    inside = 1 - smoothstep(away.astype(np.float32), -soft, soft)
    if step == 1:
        return inside[: shape[0], : shape[1]]
    return enlarged(np.repeat(inside[..., None], 3, 2), shape, step)[..., 0]


def clean(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """A born-digital page: pure white paper and even ink, with slight blur or none."""
    sharp = rng.random() < 0.3
    cover = page.ink.astype(np.float32) if sharp else blur(page.ink, rng.uniform(0.3, 0.7))
    dark = np.clip(rng.choice((1.0, 0.9, 0.75)) * rng.normal(1, 0.02, 3), 0.5, 1)
    return LabelledPage(darkened(np.ones_like(page.image), cover, dark), page.ink)
