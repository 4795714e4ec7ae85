"""Removal of writing from part of a page, so that bleed-through stands alone there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from drmamba.config import DegradeConfig
from drmamba.data.compositing import covered
from drmamba.data.degrade.ink import layers
from drmamba.data.degrade.passes import grained
from drmamba.data.filters import blur
from drmamba.data.noise import ramp
from drmamba.data.page import Field, LabelledPage, Picture
from drmamba.data.wide_noise import clouds, noise
from drmamba.images import Ink

LEAST_INK = 0.004  # share of the page that must remain ink, or else nothing is removed


def cleared(page: LabelledPage, rng: np.random.Generator) -> LabelledPage:
    """Remove whole strokes from one side of a page, from around a block, or in patches.

    A stroke is a connected component of ink; it is removed if most of it lies in the part to be cleared, and is
    replaced by paper like that around it. A page stays as it is if hardly any ink would remain or none would go.
    """
    gone = _removed(page.ink, _part(rng, page.shape))
    kept = page.ink & ~gone
    if not gone.any() or kept.mean() < LEAST_INK:
        return page
    parts = layers(page)
    grain = _grain(page, parts.paper, parts.near, rng)
    around = np.minimum(blur(gone, 2.0) * 6, 1) * (1 - np.minimum(blur(kept, 1.0) * 3, 1))
    image = covered(page.image, np.maximum(around, gone), parts.paper)
    return LabelledPage(grained(image, (grain * around)[..., None], 1.0, in_the_dark=False), kept)


def bare(page: LabelledPage, rng: np.random.Generator) -> Picture:
    """The sheet without any ink; stains and bleed-through remain."""
    parts = layers(page)
    paper = parts.paper + _grain(page, parts.paper, parts.near, rng)[..., None]
    around = np.maximum(np.minimum(blur(page.ink, 2.0) * 6, 1), page.ink)
    return np.clip(covered(page.image, around, paper), 0, 1)


def probabilities_after(config: DegradeConfig, bleed_through: float = 0.8) -> DegradeConfig:
    """The probabilities of further degradations of a cleared page: much bleed-through, and no faded ink.

    Nobody could distinguish faded strokes from bleed-through that stands alone.
    """
    return replace(config, faint=0.0, washed_out=0.0, bleed_through=bleed_through)


def _part(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """The part of the page from which strokes are removed."""
    kind = rng.integers(3)
    if kind == 0:
        return ramp(rng, shape) > rng.uniform(-0.8, 0.5)
    if kind == 1:
        where = np.ones(shape, np.bool_)
        height, width = (int(side * rng.uniform(0.3, 0.7)) for side in shape)
        top, left = (
            int(rng.integers(side - size + 1)) for side, size in zip(shape, (height, width), strict=True)
        )
        where[top : top + height, left : left + width] = False
        return where
    return clouds(rng, shape, rng.uniform(0.2, 0.5) * max(shape), octaves=1) > rng.uniform(-0.7, 0.4)


def _removed(ink: Ink, where: NDArray[np.bool_]) -> Ink:
    """The strokes of which more than half lies in the part to be cleared."""
    labels, count = ndimage.label(ink, np.ones((3, 3)))
    sizes = np.bincount(labels.ravel(), minlength=count + 1)
    inside = np.bincount(labels[where], minlength=count + 1)
    goes = inside > 0.5 * sizes
    goes[0] = False
    gone: Ink = goes[labels]
    return gone


def _grain(page: LabelledPage, paper: Field, near: Field, rng: np.random.Generator) -> Field:
    """Noise as strong as the paper's own, so that the replaced paper is not smoother than the rest."""
    bare = near[::3, ::3] < 0.01
    if not bare.any():
        return np.zeros(page.shape, np.float32)
    spread = float((page.image[::3, ::3] - paper[::3, ::3])[bare].std())
    return noise(rng, page.shape, 2) * np.float32(min(spread, 0.04))
