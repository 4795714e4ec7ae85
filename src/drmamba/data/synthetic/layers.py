"""Layers of ink on a sheet, and their exact ground truth under every ink convention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from drmamba.config import Convention
from drmamba.data.compositing import darkened
from drmamba.data.filters import blur
from drmamba.data.geometry import hardened
from drmamba.data.page import Field, LabelledPage, Picture
from drmamba.data.wide_noise import clouds, noise
from drmamba.images import Ink

# Under `all` everything but "tone" is ink, under `contest` only "text". A "band" is the dark ground of white letters:
# it is ink under `all`, and no page has one under `contest`, because any label of it would contradict other pages.
# "Tone" is a photograph or a halftone too fine to resolve. Under `all` its truth is unknown: as paper its dark areas
# would contradict solid ink, and as ink they would contradict stains. Pictures are found by other means.
Kind = Literal["text", "line", "drawing", "stamp", "band", "tone"]

# The share of red, green and blue light that fresh inks absorb, each with its relative frequency.
INKS: tuple[tuple[tuple[float, float, float], float], ...] = (
    ((0.86, 0.86, 0.84), 4),  # black
    ((0.62, 0.72, 0.80), 4),  # iron gall, browned
    ((0.42, 0.55, 0.66), 2),  # the same, pale
    ((0.55, 0.55, 0.53), 2),  # grey, pencil
    ((0.70, 0.62, 0.38), 1),  # blue
    ((0.25, 0.72, 0.76), 0.7),  # red
)
# The same shares for coloured inks: red, blue and two violets.
COLOURED = ((0.22, 0.72, 0.76), (0.72, 0.60, 0.30), (0.62, 0.66, 0.38), (0.55, 0.70, 0.45))

# Of a pixel; under `contest` one that ink covers by less is paper. The contests draw their truth a little bold: its
# outline lies where the ink is a third as dark as in the core of the stroke. Under `all` the outline is the true one.
LEAST_COVERAGE = np.float32(0.15)
LIGHT_HAND = 0.3  # share of the texts whose thin strokes are paler than their broad ones

Tone = NDArray[np.float32]  # (3,), the share of red, green and blue light that an ink absorbs


@dataclass(frozen=True)
class Layer:
    """One element of the page: the share of each pixel that it covers, the tone of its ink, and its kind."""

    coverage: Field
    dark: Tone
    kind: Kind = "text"
    texture: Field | None = None  # in [0, 1], how much ink the paper took; the ground truth ignores it


@dataclass(frozen=True)
class Scene:
    """A picture, its text as the contests outline it, and everything that was printed, written or drawn."""

    image: Picture
    text: Ink
    everything: Ink
    tone: Ink

    @property
    def either(self) -> Ink:
        """What is ink under one of the conventions, if not under both."""
        return self.text | self.everything

    def ink(self, convention: Convention) -> Ink:
        """The ink under a convention."""
        return self.text if convention == "contest" else self.everything

    def unknown(self, convention: Convention) -> Ink | None:
        """Where the page has no truth under a convention, if there is such a place."""
        return self.tone if convention == "all" and self.tone.any() else None


def ink_tone(rng: np.random.Generator, *, soot: bool = False) -> Tone:
    """A random ink, more or less diluted; with `soot` it is always black."""
    cumulative = np.cumsum([weight for _, weight in INKS])
    drawn = int(np.searchsorted(cumulative, rng.uniform(0, cumulative[-1])))
    base = np.array(INKS[0 if soot else drawn][0])
    return np.clip(base * rng.uniform(0.6, 1.1) * rng.normal(1, 0.03, 3), 0.05, 0.97).astype(np.float32)


def printers_ink(rng: np.random.Generator, size: float) -> Tone:
    """A mostly black ink, never pale for small type, which degradations would otherwise erase."""
    least = np.float32(0.55 if size < 14 else 0.3)
    return np.maximum(ink_tone(rng, soot=rng.random() < 0.6), least)


def inked(sheet: Picture, layers: Sequence[Layer], rng: np.random.Generator) -> Scene:
    """Print layers of ink on a sheet; the truth is what they cover, with the outline of each convention.

    Layers of the same ink are printed together. The look of an ink does not depend on the other layers.
    """
    image = np.ascontiguousarray(sheet).copy()
    text, everything, tone = (np.zeros(sheet.shape[:2], np.bool_) for _ in range(3))
    seed = int(rng.integers(2**63))
    printed: dict[int, tuple[Field, Layer]] = {}
    for number, layer in enumerate(layers):
        if layer.kind == "tone":
            tone |= _hull(layer.coverage)
        else:
            everything |= hardened((layer.coverage * 255).astype(np.uint8))
            if layer.kind == "text":
                text |= layer.coverage >= LEAST_COVERAGE
        # The number keeps layers apart that have a texture or an ink of their own.
        key = id(layer.dark) if layer.texture is None and layer.kind not in ("band", "tone") else -1 - number
        before = printed.get(key)
        printed[key] = (np.maximum(before[0], layer.coverage) if before else layer.coverage, layer)
    for number, (coverage, layer) in enumerate(printed.values()):
        _print(image, coverage, layer, np.random.default_rng((seed, number)))
    return Scene(image, text, everything & ~tone, tone)


def _hull(coverage: Field) -> Ink:
    """The smallest rectangle around all that is covered."""
    hull = np.zeros(coverage.shape, np.bool_)
    rows, columns = (np.flatnonzero(coverage.any(axis)) for axis in (1, 0))
    if len(rows):
        hull[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = True
    return hull


def _print(image: Picture, coverage: Field, layer: Layer, rng: np.random.Generator) -> None:
    """Darken the picture where a layer covers it, slightly soft and uneven like ink on paper."""
    rows, columns = (np.flatnonzero(coverage.max(axis)) for axis in (1, 0))
    if not len(rows):
        return
    part = slice(max(0, rows[0] - 3), rows[-1] + 4), slice(max(0, columns[0] - 3), columns[-1] + 4)
    depth = coverage[part]
    if rng.random() < 0.8 and layer.kind != "tone":
        depth = blur(depth, rng.uniform(0.4, 1.1))
    shape = depth.shape[0], depth.shape[1]
    uneven = np.float32(rng.uniform(0, 0.25)) * clouds(rng, shape, 30, octaves=2)
    uneven += np.float32(rng.uniform(0, 0.12)) * noise(rng, shape, 3)
    depth = np.clip(depth * np.minimum(1 + uneven, np.float32(1.15)), 0, 1)
    if layer.texture is not None:
        depth *= layer.texture[part]
    if layer.kind == "text" and rng.random() < LIGHT_HAND:
        depth *= _pressed(depth, rng)
    image[part] = darkened(image[part], depth, layer.dark)


def _pressed(depth: Field, rng: np.random.Generator) -> Field:
    """How much ink a pen leaves: all of it on broad strokes, and little on hairlines, where it is hardly pressed."""
    near = blur(depth, rng.uniform(1.5, 4))  # the broader a stroke is, the more of its surroundings it covers
    inked = near[::4, ::4][depth[::4, ::4] > 0.5]
    if not len(inked):
        return np.ones_like(depth)
    broad = max(float(np.quantile(inked, rng.uniform(0.6, 0.95))), 0.05)
    least = np.float32(rng.uniform(0.2, 0.5))
    share: Field = np.minimum(near / np.float32(broad), 1) ** np.float32(rng.uniform(0.4, 1.4))
    return least + (1 - least) * share


def truthful(scene: Scene, degraded: LabelledPage, convention: Convention) -> LabelledPage:
    """The degraded picture of a scene with the remaining ink under a convention."""
    return LabelledPage(degraded.image, degraded.ink & scene.ink(convention), scene.unknown(convention))
