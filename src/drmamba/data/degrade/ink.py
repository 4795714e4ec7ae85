"""Degradations of ink: it fades, browns, breaks up, and shows through from the other side."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from drmamba.data.compositing import covered, darkened
from drmamba.data.degrade.passes import block_sums, enlarged, regained, relaid
from drmamba.data.filters import blur, smoothstep
from drmamba.data.page import Field, LabelledPage, Picture
from drmamba.data.wide_noise import clouds, noise
from drmamba.images import Ink

BLOCK = 8  # pixels; side of the blocks within which the paper under ink is taken to be even
LEAST_CONTRAST = 0.05  # share of the paper's brightness by which faded ink remains darker
WIDE = 512  # pixels; a region with sides of this length or more shows ink and bleed-through beside each other
WRITTEN = 0.03  # share of ink from which a smaller crop does, too
SHARP = 0.25  # share of these with bleed-through on which it is sharp
FINE = 1.3  # pixels; hairlines and corners of the other side survive a blur of less than this
WASHED = (15.0, 80.0)  # pixels; the scale of the patches in which ink is washed out
TWO_HANDS = 0.3  # share of the faded pages of which only some lines are pale, as if written by another hand

Colour = NDArray[np.float32]  # (3,), one value per channel


class Layers(NamedTuple):
    """A page decomposed into the picture, the paper without ink, and a mask of the ink."""

    image: Picture
    paper: Picture
    near: Field  # (H, W), 1 on ink and its soft edge, 0 elsewhere


def layers(page: LabelledPage) -> Layers:
    """Estimate the paper under the ink from the paper around it."""
    near = np.minimum(blur(page.ink, 1.2) * 4, 1)
    sums = block_sums(page.image, near, BLOCK) * np.float32(1 / BLOCK**2)
    # Blocks full of ink take the colour of paper that is further and further away.
    for sigma in (1.0, 3.0):
        sums = sums + np.float32(0.1) * blur(sums, sigma)
    colour = sums[..., :3] + np.float32(1e-4) * page.image[::8, ::8].reshape(-1, 3).mean(0)
    paper = np.maximum(colour / (sums[..., 3:] + np.float32(1e-4)), np.float32(0.02))
    return Layers(page.image, enlarged(paper, page.shape, BLOCK), near)


def transmission(page: LabelledPage, parts: Layers) -> Colour:
    """The mean share of light that the ink of this page transmits, per channel, from 0.05 to 0.95."""
    step = 2 if max(page.shape) <= 512 else 4  # a sample of the pixels is enough
    some = page.ink[::step, ::step]
    if not some.any():
        return np.full(3, 0.4, np.float32)
    passed = np.clip(parts.image[::step, ::step][some] / parts.paper[::step, ::step][some], 0, 1.5)
    mean: Colour = passed.mean(0, dtype=np.float32)
    return np.clip(mean, np.float32(0.05), np.float32(0.95))


def _scale(rng: np.random.Generator, shape: tuple[int, int], low: float, high: float) -> float:
    """A random scale in pixels, from `low` up to `high` or, on wide regions, up to a third of their side."""
    return float(np.exp(rng.uniform(np.log(low), np.log(max(high, 0.33 * max(shape))))))


class Verso(Protocol):
    """Draws the ink of another page."""

    def __call__(self, rng: np.random.Generator, shape: tuple[int, int], *, fine: bool) -> Ink: ...


def bleed_through(page: LabelledPage, verso: Verso, rng: np.random.Generator) -> LabelledPage:
    """Let the ink of the other side show through, mirrored, blurred and in patches.

    The stronger it is, the softer it is, because only softness, mirroring and paleness distinguish it from ink. On some
    pages it is sharp, as in thin books: then darker ink beside it tells it from pale ink. There must be such ink.
    """
    strength = rng.uniform(0.12, 0.8)
    sigma = rng.uniform(0.6, 1.6) + max(0.0, strength - 0.4) * rng.uniform(2, 6)
    beside = min(page.shape) >= WIDE or page.ink.mean() >= WRITTEN
    if beside and rng.random() < SHARP:
        strength, sigma = rng.uniform(0.2, 0.6), rng.uniform(0.4, 1.0)
    return shining_through(page, verso, rng, strength, sigma)


def shining_through(
    page: LabelledPage, verso: Verso, rng: np.random.Generator, strength: float, sigma: float
) -> LabelledPage:
    """The page with the ink of the other side, so strong and blurred by so many pixels."""
    shape = _soft(verso(rng, page.shape, fine=sigma < FINE)[:, ::-1], sigma)
    patches = clouds(rng, page.shape, _scale(rng, page.shape, 40, 200), octaves=2)
    patches = smoothstep(patches, -1.8, rng.uniform(0, 1))
    if rng.random() < 0.5:
        patches *= 1 + np.float32(0.25) * noise(rng, page.shape, rng.uniform(2, 5))
    dark = _darkness(page) * (1 + rng.uniform(-0.05, 0.15) * np.array([-1, 0, 1]) + rng.normal(0, 0.02, 3))
    return LabelledPage(darkened(page.image, shape * patches, np.clip(dark * strength, 0, 1)), page.ink)


def _soft(verso: Ink, sigma: float) -> Field:
    """Blurred ink; a strong blur of a wide region is computed at half its size."""
    if sigma < 1.5 or min(verso.shape) < 512:
        return blur(verso, sigma)
    height, width = verso.shape[0] // 2 * 2, verso.shape[1] // 2 * 2
    halves = verso[:height, :width].astype(np.float32)
    rows = halves[::2] + halves[1::2]
    small = blur((rows[:, ::2] + rows[:, 1::2]) * np.float32(0.25), sigma / 2)
    return enlarged(np.repeat(small[..., None], 3, 2), (verso.shape[0], verso.shape[1]), 2)[..., 0]


def _darkness(page: LabelledPage) -> Colour:
    """A rough estimate of the share of light that the ink of this page absorbs, per channel; 0.6 without ink."""
    some, image = page.ink[::3, ::3], page.image[::3, ::3]
    if not some.any() or some.all():
        return np.full(3, 0.6, np.float32)
    under, bare = (image[where].mean(0, dtype=np.float32) for where in (some, ~some))
    dark: Colour = 1 - under / np.maximum(bare, np.float32(0.02))
    return np.clip(dark, np.float32(0.1), np.float32(0.95))


def faint(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Fade the ink unevenly, but never so far that it disappears; on some pages only the lines of one of two hands."""
    parts = layers(page)
    lost = np.float32(rng.uniform(0.1, 0.7)) + np.float32(rng.uniform(0.05, 0.3)) * clouds(
        rng, page.shape, _scale(rng, page.shape, 20, 100), octaves=2
    )
    if rng.random() < 0.5:  # the pen ran dry, or the sheet is rough
        grain = smoothstep(noise(rng, page.shape, rng.uniform(2, 6)), rng.uniform(0.2, 1), 1.6)
        lost += grain * np.float32(rng.uniform(0.1, 0.5))
    if rng.random() < TWO_HANDS:
        lost *= _one_hand(rng, page.shape)
    return _faded(page, parts, lost, rng.uniform(0.6, 1))


def washed_out(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Wash the ink out in patches, so that nearly lost words stand beside dark ones of the same line.

    Patches are smaller than a crop: one that shows nothing but pale ink could as well show the back of the sheet.
    """
    parts = layers(page)
    soft = rng.uniform(0.1, 0.6)
    scale = float(np.exp(rng.uniform(*np.log(WASHED))))
    patches = clouds(rng, page.shape, scale, octaves=2)
    lost = np.float32(rng.uniform(0.4, 0.85)) * smoothstep(patches, -soft, soft)
    return _faded(page, parts, lost + np.float32(rng.uniform(0, 0.3)), rng.uniform(0.8, 1))


def _faded(page: LabelledPage, parts: Layers, lost: Field, share: float) -> LabelledPage:
    """The page without this part of its ink, or at most without a share of what it can lose and still be seen."""
    contrast = float(1 - transmission(page, parts).mean())
    most = max(0.0, 1 - LEAST_CONTRAST / max(contrast, LEAST_CONTRAST))
    lost = np.clip(lost, 0, most * share)
    return LabelledPage(covered(page.image, lost * parts.near, parts.paper), page.ink)


def _one_hand(rng: np.random.Generator, shape: tuple[int, int]) -> Field:
    """(H, 1), 1 on the lines that one hand wrote and 0 on the others: a few wide bands across the page."""
    bands = noise(rng, (shape[0], 1), _scale(rng, shape, 60, 200))
    return smoothstep(bands, -0.05, 0.05)


def recoloured(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Give the ink, or part of it, another tone: iron-gall brown, red, blue or black."""
    parts = layers(page)
    dark = 1 - transmission(page, parts)
    tone = np.array(((0.5, 0.8, 1.2), (0.25, 1.1, 1.2), (1.2, 1.0, 0.6), (1.0, 1.0, 1.0))[rng.integers(4)])
    gain = tone / tone.mean() * rng.uniform(0.7, 1.3)
    gain = np.minimum(gain, 0.97 / dark).astype(np.float32)
    where = parts.near
    if rng.random() < 0.4:
        where = where * smoothstep(
            clouds(rng, page.shape, _scale(rng, page.shape, 60, 160), octaves=2), -0.3, 0.3
        )
    return LabelledPage(regained(page.image, parts.paper, where, gain), page.ink)


def new_paper(page: LabelledPage, sheet: Picture, rng: np.random.Generator) -> LabelledPage:
    """Move the ink to another sheet; stains and bleed-through stay behind."""
    parts = layers(page)
    kept = parts.near * np.float32(rng.uniform(0.7, 1.15))
    return LabelledPage(relaid(sheet, page.image, parts.paper, kept), page.ink)
