"""What age does to ink: it fades, browns, breaks up, and shows through from the other side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from drmamba.data.degrade.passes import block_sums, enlarged, regained, relaid
from drmamba.data.degrade.wide import clouds, noise
from drmamba.data.fields import Field, blur, smoothstep
from drmamba.data.layering import covered, darkened
from drmamba.data.page import Page, Picture
from drmamba.images import Ink

BLOCK = 8  # pixels: the scale below which paper under ink is taken to be even
LEAST = 0.05  # of the paper's brightness: what remains of the contrast of faded ink


Colour = NDArray[np.float32]  # (3,)


class Layers(NamedTuple):
    """A page taken apart: the picture, the paper without ink, and where ink is near."""

    image: Picture
    paper: Picture
    near: Field  # (H, W): 1 on ink and its soft edge, 0 elsewhere

    @property
    def passed(self) -> Picture:
        """The share of light that the ink lets pass: image = paper * passed."""
        passed: Picture = np.clip(self.image / self.paper, 0, 1.5)
        return passed


def layers(page: Page) -> Layers:
    """Estimate the paper under the ink from the paper around it."""
    near = np.minimum(blur(page.ink, 1.2) * 4, 1)
    sums = block_sums(page.image, near, BLOCK) * np.float32(1 / BLOCK**2)
    # Blocks full of ink borrow from further and further away.
    for sigma in (1.0, 3.0):
        sums = sums + np.float32(0.1) * blur(sums, sigma)
    colour = sums[..., :3] + np.float32(1e-4) * page.image[::8, ::8].reshape(-1, 3).mean(0)
    paper = np.maximum(colour / (sums[..., 3:] + np.float32(1e-4)), np.float32(0.02))
    return Layers(page.image, enlarged(paper, page.shape, BLOCK), near)


def transmission(page: Page, parts: Layers) -> Colour:
    """(3,): the share of light that the ink of this page lets pass on average, at most 0.95."""
    step = 2 if max(page.shape) <= 512 else 4  # a part of the pixels tells as much
    some = page.ink[::step, ::step]
    if not some.any():
        return np.full(3, 0.4, np.float32)
    passed = np.clip(parts.image[::step, ::step][some] / parts.paper[::step, ::step][some], 0, 1.5)
    mean: Colour = passed.mean(0, dtype=np.float32)
    return np.clip(mean, np.float32(0.05), np.float32(0.95))


def _scale(rng: np.random.Generator, shape: tuple[int, int], low: float, high: float) -> float:
    """A scale in pixels: as small as `low` on any page, and on wide regions as large as a third of them."""
    return float(np.exp(rng.uniform(np.log(low), np.log(max(high, 0.33 * max(shape))))))


def bleed_through(page: Page, verso: Ink, rng: np.random.Generator) -> Page:
    """Let the other side's ink, given as it lies there, shine through: mirrored, blurred, in patches.

    The stronger it is, the softer: only what is soft, mirrored or paler tells it from ink.
    """
    strength = rng.uniform(0.12, 0.8)
    sigma = rng.uniform(0.6, 1.6) + max(0.0, strength - 0.4) * rng.uniform(2, 6)
    shape = _soft(verso[:, ::-1], sigma)
    patches = clouds(rng, page.shape, _scale(rng, page.shape, 40, 200), octaves=2)
    patches = smoothstep(patches, -1.8, rng.uniform(0, 1))
    if rng.random() < 0.5:
        patches *= 1 + np.float32(0.25) * noise(rng, page.shape, rng.uniform(2, 5))
    dark = _darkness(page) * (1 + rng.uniform(-0.05, 0.15) * np.array([-1, 0, 1]) + rng.normal(0, 0.02, 3))
    return Page(darkened(page.image, shape * patches, np.clip(dark * strength, 0, 1)), page.ink)


def _soft(verso: Ink, sigma: float) -> Field:
    """Blurred ink; a strong blur of a wide region is made at half its size."""
    if sigma < 1.5 or min(verso.shape) < 512:
        return blur(verso, sigma)
    height, width = verso.shape[0] // 2 * 2, verso.shape[1] // 2 * 2
    halves = verso[:height, :width].astype(np.float32)
    rows = halves[::2] + halves[1::2]
    small = blur((rows[:, ::2] + rows[:, 1::2]) * np.float32(0.25), sigma / 2)
    return enlarged(np.repeat(small[..., None], 3, 2), (verso.shape[0], verso.shape[1]), 2)[..., 0]


def _darkness(page: Page) -> Colour:
    """(3,): the share of light that this page's ink takes away from its paper, roughly; 0.6 without ink."""
    some, image = page.ink[::3, ::3], page.image[::3, ::3]
    if not some.any() or some.all():
        return np.full(3, 0.6, np.float32)
    under, bare = (image[where].mean(0, dtype=np.float32) for where in (some, ~some))
    dark: Colour = 1 - under / np.maximum(bare, np.float32(0.02))
    return np.clip(dark, np.float32(0.1), np.float32(0.95))


def faint(page: Page, rng: np.random.Generator) -> Page:
    """Fade the ink, here more and there less, but never so far that nothing of it is left."""
    parts = layers(page)
    lost = np.float32(rng.uniform(0.1, 0.7)) + np.float32(rng.uniform(0.05, 0.3)) * clouds(
        rng, page.shape, _scale(rng, page.shape, 20, 100), octaves=2
    )
    if rng.random() < 0.5:  # the pen ran dry, or the sheet is rough
        grain = smoothstep(noise(rng, page.shape, rng.uniform(2, 6)), rng.uniform(0.2, 1), 1.6)
        lost += grain * np.float32(rng.uniform(0.1, 0.5))
    contrast = float(1 - transmission(page, parts).mean())
    most = max(0.0, 1 - LEAST / max(contrast, LEAST))
    lost = np.clip(lost, 0, most * rng.uniform(0.6, 1))
    return Page(covered(page.image, lost * parts.near, parts.paper), page.ink)


def recoloured(page: Page, rng: np.random.Generator) -> Page:
    """Give the ink another tone: iron-gall brown, faded red, blue, or black on another part of the page."""
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
    return Page(regained(page.image, parts.paper, where, gain), page.ink)


def new_paper(page: Page, sheet: Picture, rng: np.random.Generator) -> Page:
    """Move the ink to another sheet; what stained or showed through the old one stays behind."""
    parts = layers(page)
    kept = parts.near * np.float32(rng.uniform(0.7, 1.15))
    return Page(relaid(sheet, page.image, parts.paper, kept), page.ink)
