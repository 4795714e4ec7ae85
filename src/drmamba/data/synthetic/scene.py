"""Whole scenes: a sheet, layers of ink on it, and the exact truth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.config import SyntheticConfig
from drmamba.data.degrade import degrade
from drmamba.data.fields import Field, blur, clouds, noise
from drmamba.data.geometry import hardened
from drmamba.data.layering import darkened
from drmamba.data.page import Ink, Page, Picture
from drmamba.data.papers import Papers, papyrus
from drmamba.data.synthetic.fonts import Fonts
from drmamba.data.synthetic.furniture import initial, round_stamp, rules
from drmamba.data.synthetic.pen import hand, written
from drmamba.data.synthetic.printing import tilted, typeset, worn
from drmamba.data.synthetic.texts import SCRIPTS, Script

World = Literal["print", "script", "pen", "papyrus"]
WORLDS: tuple[World, ...] = get_args(World)

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


@dataclass(frozen=True)
class Layer:
    """One ink on the page: the share of each pixel it covers, and the share of light (3,) it takes."""

    coverage: Field
    dark: NDArray[np.float32]


class Synthesizer:
    """An endless source of pages. It is a `Stock`: degradations take their versos and sheets from it."""

    def __init__(self, config: SyntheticConfig, papers: Papers) -> None:
        self.config, self.papers, self.fonts = config, papers, Fonts(config.fonts)
        chances = np.cumsum([getattr(config, world) for world in WORLDS])
        self.chances = chances / chances[-1]

    def page(self, rng: np.random.Generator, shape: tuple[int, int], world: World | None = None) -> Page:
        """A degraded piece of a page, of the given height and width, with its exact ink."""
        world = world or self._world(rng)
        return self._degraded(self.clean(rng, shape, world), rng, world)

    def leaf(self, rng: np.random.Generator, shape: tuple[int, int], world: World | None = None) -> Page:
        """A whole degraded page: lines end where the page does, within margins."""
        world = world or self._world(rng)
        return self._degraded(self.clean(rng, shape, world, whole=True), rng, world)

    def clean(
        self,
        rng: np.random.Generator,
        shape: tuple[int, int],
        world: World | None = None,
        *,
        whole: bool = False,
    ) -> Page:
        """A piece of a page, or a whole one, before any degradation."""
        world = world or self._world(rng)
        layers = self._layers(rng, shape, world, whole)
        sheet = papyrus(rng, shape) if world == "papyrus" else self.sheet(rng, shape)
        return inked(sheet, layers, rng)

    def _world(self, rng: np.random.Generator) -> World:
        return WORLDS[int(self.chances.searchsorted(rng.random(), side="right"))]

    def _degraded(self, page: Page, rng: np.random.Generator, world: World) -> Page:
        config = self.config.degrade
        if world == "papyrus":  # pieces of it are lost more often than not, and its back is seldom written on
            config = replace(
                config,
                holes=max(0.5, config.holes),
                bleed_through=0.2 * config.bleed_through,
                faint=0.3 * config.faint,  # it is hard to tell from the fibres as it is
            )
        return degrade(page, rng, config, self)

    def verso(self, rng: np.random.Generator, shape: tuple[int, int]) -> Ink:
        """The ink of a page of its own, drawn at half size: it is going to be blurred."""
        half = (shape[0] + 1) // 2, (shape[1] + 1) // 2
        text = self._text(rng, half, WORLDS[int(rng.integers(3))], scale=0.5)
        large = Image.fromarray((text * 255).astype(np.uint8)).resize((2 * half[1], 2 * half[0]))
        return np.asarray(large)[: shape[0], : shape[1]] >= 128

    def sheet(self, rng: np.random.Generator, shape: tuple[int, int]) -> Picture:
        """A blank sheet."""
        return self.papers.sheet(rng, shape)

    def _layers(
        self, rng: np.random.Generator, shape: tuple[int, int], world: World, whole: bool
    ) -> list[Layer]:
        if whole:
            margin = int(rng.uniform(0.04, 0.1) * min(shape))
            block = self._text(rng, (shape[0] - 2 * margin, shape[1] - 2 * margin), world, whole=True)
            text = np.pad(block, margin)
        else:
            text = self._text(rng, shape, world)
        dark = _ink(rng, soot=world == "papyrus")
        extras: list[Layer] = []
        lots = rng.random(3)
        file = self.fonts.pick(rng, "latin") or ""
        if lots[0] < 0.08 and world != "papyrus":
            letter, box = initial(rng, shape, file, int(rng.uniform(50, 140)))
            text = text.copy()
            text[box] = 0
            extras.append(Layer(letter, np.array(COLOURED[rng.integers(2)], np.float32)))
        if lots[1] < 0.1:
            text = np.maximum(text, rules(rng, shape, rng.uniform(1.2, 4)))
        if lots[2] < 0.06 and world != "papyrus":
            colour = np.array(COLOURED[rng.integers(len(COLOURED))]) * rng.uniform(0.5, 1)
            extras.append(Layer(round_stamp(rng, shape, file), colour.astype(np.float32)))
        return [Layer(text, dark), *extras]

    def _text(
        self,
        rng: np.random.Generator,
        shape: tuple[int, int],
        world: World,
        *,
        scale: float = 1,
        whole: bool = False,
    ) -> Field:
        """The running text of a world, `scale` times as large as on a page."""
        if world == "pen":
            x_height = float(np.exp(rng.uniform(np.log(9), np.log(34)))) * scale
            text = written(hand(rng, x_height), rng, shape, whole=whole)
            return worn(text, rng, rng.uniform(0, 0.4) if scale == 1 else 0)
        script: Script = "greek" if world == "papyrus" else "latin"
        if world != "papyrus" and rng.random() < self.config.other_scripts:
            script = SCRIPTS[int(rng.integers(1, len(SCRIPTS)))]
        file = self.fonts.pick(rng, script, written=world == "script") or self.fonts.pick(rng, script)
        if file is None:
            script, file = "latin", self.fonts.pick(rng, "latin", written=world == "script") or ""
        size = int(np.exp(rng.uniform(np.log(16), np.log(64))) * scale)
        text = typeset(rng, shape, file, script, size, capitals=world == "papyrus", whole=whole)
        if scale < 1:
            return text
        if rng.random() < 0.35:
            text = tilted(text, rng, 1.5)
        most = 1.4 if world == "papyrus" else 0.9
        return worn(text, rng, rng.uniform(0, most) * min(1.0, size / 32))


def _ink(rng: np.random.Generator, *, soot: bool) -> NDArray[np.float32]:
    chances = np.cumsum([weight for _, weight in INKS])
    drawn = int(np.searchsorted(chances, rng.uniform(0, chances[-1])))
    base = np.array(INKS[0 if soot else drawn][0])
    return np.clip(base * rng.uniform(0.6, 1.1) * rng.normal(1, 0.03, 3), 0.05, 0.97).astype(np.float32)


def inked(sheet: Picture, layers: list[Layer], rng: np.random.Generator) -> Page:
    """Lay ink on a sheet; truth is where it covers half a pixel, or is the crest of a hairline."""
    image, ink = sheet, np.zeros(sheet.shape[:2], np.bool_)
    for layer in layers:
        truth = hardened((layer.coverage * 255 + np.float32(0.5)).astype(np.uint8))
        ink |= truth
        depth = blur(layer.coverage, rng.uniform(0.3, 0.9)) if rng.random() < 0.7 else layer.coverage
        uneven = 1 + np.float32(rng.uniform(0, 0.25)) * clouds(rng, truth.shape, 30, octaves=2)
        uneven += np.float32(rng.uniform(0, 0.12)) * noise(rng, truth.shape, 3)
        image = darkened(image, np.clip(depth * np.minimum(uneven, 1.15), 0, 1), layer.dark)
    return Page(image, ink)
