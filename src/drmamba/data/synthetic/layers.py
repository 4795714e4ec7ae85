"""Layers of ink on a sheet, and the exact truth of them under every ink convention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from drmamba.config import Convention
from drmamba.data.fields import Field, blur, clouds, noise
from drmamba.data.geometry import hardened
from drmamba.data.layering import darkened
from drmamba.data.page import Ink, Page, Picture

# Under `all` everything but "tone" is ink, under `contest` only "text". A "band" is the dark ground of
# white letters: black stays black under `all`, and no page shows one under `contest`, because there
# neither the ground nor the letters could be called ink without contradicting other pages.
Kind = Literal["text", "line", "drawing", "stamp", "band", "tone"]

# The share of light that inks take from red, green and blue when fresh; then how often each is used.
INKS: tuple[tuple[tuple[float, float, float], float], ...] = (
    ((0.86, 0.86, 0.84), 4),  # black
    ((0.62, 0.72, 0.80), 4),  # iron gall, browned
    ((0.42, 0.55, 0.66), 2),  # the same, pale
    ((0.55, 0.55, 0.53), 2),  # grey, pencil
    ((0.70, 0.62, 0.38), 1),  # blue
    ((0.25, 0.72, 0.76), 0.7),  # red
)
COLOURED = ((0.22, 0.72, 0.76), (0.72, 0.60, 0.30), (0.62, 0.66, 0.38), (0.55, 0.70, 0.45))

Tone = NDArray[np.float32]  # (3,): the share of red, green and blue light that an ink takes


@dataclass(frozen=True)
class Layer:
    """One thing on the page: the share of each pixel it covers, the ink it is made with, and its kind."""

    coverage: Field
    dark: Tone
    kind: Kind = "text"


@dataclass(frozen=True)
class Scene:
    """A picture, the text on it, and all that was printed, written or drawn; text is part of the latter."""

    image: Picture
    text: Ink
    everything: Ink

    def ink(self, convention: Convention) -> Ink:
        """What counts as ink under a convention."""
        return self.text if convention == "contest" else self.everything


def ink_tone(rng: np.random.Generator, *, soot: bool = False) -> Tone:
    """A random ink, more or less diluted; `soot` is always black."""
    chances = np.cumsum([weight for _, weight in INKS])
    drawn = int(np.searchsorted(chances, rng.uniform(0, chances[-1])))
    base = np.array(INKS[0 if soot else drawn][0])
    return np.clip(base * rng.uniform(0.6, 1.1) * rng.normal(1, 0.03, 3), 0.05, 0.97).astype(np.float32)


def inked(sheet: Picture, layers: Sequence[Layer], rng: np.random.Generator) -> Scene:
    """Lay ink on a sheet; truth is where it covers half a pixel, or is the crest of a hairline.

    How one layer looks does not depend on which others there are.
    """
    image = sheet
    text, everything = (np.zeros(sheet.shape[:2], np.bool_) for _ in range(2))
    seed = int(rng.integers(2**63))
    for number, layer in enumerate(layers):
        if layer.kind != "tone":
            truth = hardened((layer.coverage * 255 + np.float32(0.5)).astype(np.uint8))
            everything |= truth
            if layer.kind == "text":
                text |= truth
        image = _printed(image, layer, np.random.default_rng((seed, number)))
    return Scene(image, text, everything)


def _printed(image: Picture, layer: Layer, rng: np.random.Generator) -> Picture:
    """The picture with one more layer, a little soft and uneven as ink lies on paper."""
    depth = blur(layer.coverage, rng.uniform(0.3, 0.9)) if rng.random() < 0.7 else layer.coverage
    uneven = 1 + np.float32(rng.uniform(0, 0.25)) * clouds(rng, depth.shape, 30, octaves=2)
    uneven += np.float32(rng.uniform(0, 0.12)) * noise(rng, depth.shape, 3)
    return darkened(image, np.clip(depth * np.minimum(uneven, 1.15), 0, 1), layer.dark)


def truthful(scene: Scene, degraded: Page, convention: Convention) -> Page:
    """The degraded picture of a scene with what is left of its ink under a convention."""
    return Page(degraded.image, degraded.ink & scene.ink(convention))
