"""Synthetic scenes: a sheet, layers of ink on it, and the exact ground truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from PIL import Image

from drmamba.config import PAGE_KINDS, Convention, DegradeConfig, PageKind, SyntheticConfig
from drmamba.data.degrade import degrade
from drmamba.data.page import Field, LabelledPage, Picture
from drmamba.data.paper_textures import PaperTextures, papyrus
from drmamba.data.synthetic.bands import bands
from drmamba.data.synthetic.calligraphy import calligraphy
from drmamba.data.synthetic.directions import directions
from drmamba.data.synthetic.drawings import drawing, woodcut
from drmamba.data.synthetic.fonts import Fonts
from drmamba.data.synthetic.forms import form, ledger
from drmamba.data.synthetic.layers import COLOURED, Layer, Scene, ink_tone, inked, truthful
from drmamba.data.synthetic.maps import chart
from drmamba.data.synthetic.music import music
from drmamba.data.synthetic.newspaper import newspaper, title
from drmamba.data.synthetic.ornament import ornament
from drmamba.data.synthetic.page_elements import initial, round_stamp, rules
from drmamba.data.synthetic.pen import hand, written
from drmamba.data.synthetic.pencil import pencil
from drmamba.data.synthetic.pictures import halftone, photograph
from drmamba.data.synthetic.plate import Plate
from drmamba.data.synthetic.printing import tilted, typeset, worn
from drmamba.data.synthetic.sparse import sparse
from drmamba.data.synthetic.tables import table
from drmamba.data.synthetic.texts import SCRIPTS, Script
from drmamba.data.synthetic.typescript import typescript
from drmamba.data.synthetic.typography import Typography
from drmamba.images import Ink

# The kinds of pages that are composed on a plate, each with the function that draws its layers.
PAGES: dict[PageKind, Callable[[Typography, np.random.Generator, Plate], list[Layer]]] = {
    "newspaper": newspaper,
    "title": title,
    "table": table,
    "drawing": drawing,
    "woodcut": woodcut,
    "form": form,
    "ledger": ledger,
    "sparse": sparse,
    "calligraphy": calligraphy,
    "music": music,
    "map": chart,
    "ornament": ornament,
    "directions": directions,
    "pencil": pencil,
    "typescript": typescript,
    "bands": bands,
    "halftone": halftone,
    "photograph": photograph,
}
# The kinds of pages that may be on the other side of the sheet, besides running text.
VERSOS: tuple[PageKind, ...] = ("newspaper", "title", "table", "woodcut", "music")


class Synthesizer:
    """Makes synthetic pages. It is a `MaterialSource`, from which degradations take versos and sheets."""

    def __init__(self, config: SyntheticConfig, papers: PaperTextures) -> None:
        self.config, self.papers, self.fonts = config, papers, Fonts(config.fonts)
        self.typography = Typography(self.fonts, config.other_scripts)
        cumulative = np.cumsum([getattr(config, kind) for kind in PAGE_KINDS])
        self.cumulative = cumulative / cumulative[-1]

    def page(
        self,
        rng: np.random.Generator,
        shape: tuple[int, int],
        kind: PageKind | None = None,
        *,
        convention: Convention = "contest",
        whole: bool = False,
    ) -> LabelledPage:
        """A degraded part of a page, or a `whole` page within margins, with its exact ink.

        The picture does not depend on the convention, except that white letters on black occur under `all` only, and
        ruled paper under `contest` only. Everything on the page is degraded alike, and the ground truth of the
        convention is what remains.
        """
        kind = kind or self._kind(rng)
        scene = self._scene(rng, shape, kind, convention, whole)
        degraded = degrade(
            LabelledPage(scene.image, scene.either), rng, self._probabilities(kind, convention), self
        )
        return truthful(scene, degraded, convention)

    def clean(
        self,
        rng: np.random.Generator,
        shape: tuple[int, int],
        kind: PageKind | None = None,
        *,
        convention: Convention = "contest",
        whole: bool = False,
    ) -> LabelledPage:
        """Part of a page, or a `whole` one, before any degradation."""
        scene = self._scene(rng, shape, kind or self._kind(rng), convention, whole)
        return LabelledPage(scene.image, scene.ink(convention), scene.unknown(convention))

    def _scene(
        self,
        rng: np.random.Generator,
        shape: tuple[int, int],
        kind: PageKind,
        convention: Convention,
        whole: bool,
    ) -> Scene:
        layers = self._layers(rng, shape, kind, whole)
        if convention == "contest":
            layers = [layer for layer in layers if layer.kind != "band"]
        if kind == "papyrus":
            return inked(papyrus(rng, shape), layers, rng)
        return inked(self.papers.sheet(rng, shape, ruled=convention == "contest"), layers, rng)

    def _kind(self, rng: np.random.Generator) -> PageKind:
        return PAGE_KINDS[int(self.cumulative.searchsorted(rng.random(), side="right"))]

    def _probabilities(self, kind: PageKind, convention: Convention) -> DegradeConfig:
        """The probabilities of the degradations of this kind of page.

        Under `all` rules are ink, and those that are pale look like guide lines. So there are none of the latter.
        """
        config = self.config.degrade
        if convention == "all":
            config = replace(config, rulings=0.0)
        if kind == "papyrus":  # it often has holes, and its back is seldom written on
            return replace(
                config,
                holes=max(0.5, config.holes),
                bleed_through=0.2 * config.bleed_through,
                washed_out=0.0,
                faint=0.3 * config.faint,  # the ink is hard to distinguish from the fibres as it is
            )
        if kind == "sparse":  # there is little but bleed-through to see, and ink must not look like it
            bleed_through = min(1.0, 1.6 * config.bleed_through)
            return replace(config, bleed_through=bleed_through, faint=0.2 * config.faint, washed_out=0.0)
        if kind == "calligraphy":  # its hairlines are pale as they are
            return replace(config, bleed_through=0.5 * config.bleed_through, faint=0.5 * config.faint)
        # Pencil is pale as it is, and faded large dark areas would be ambiguous.
        if kind in ("pencil", "woodcut", "halftone", "bands"):
            return replace(config, faint=0.3 * config.faint, washed_out=0.3 * config.washed_out)
        return config

    def verso(self, rng: np.random.Generator, shape: tuple[int, int], *, fine: bool = True) -> Ink:
        """The ink of another page; if it need not be fine, it is drawn at half size, which is faster.

        Half the size loses hairlines. Without them even sharp bleed-through would not look like ink.
        """
        drawn = shape if fine else ((shape[0] + 1) // 2, (shape[1] + 1) // 2)
        if rng.random() < 0.2:
            kind = VERSOS[int(rng.integers(len(VERSOS)))]
            layers = [layer.coverage for layer in self._layers(rng, drawn, kind, whole=False)]
            text = np.max([np.zeros(drawn, np.float32), *layers], 0)  # nothing may be drawn in a small window
        else:
            text = self._text(rng, drawn, PAGE_KINDS[int(rng.integers(3))], scale=1 if fine else 0.5)
        if fine:
            ink: Ink = text >= np.float32(0.5)
            return ink
        large = Image.fromarray((text * 255).astype(np.uint8)).resize((2 * drawn[1], 2 * drawn[0]))
        return np.asarray(large)[: shape[0], : shape[1]] >= 128

    def sheet(self, rng: np.random.Generator, shape: tuple[int, int]) -> Picture:
        """A blank sheet."""
        return self.papers.sheet(rng, shape)

    def _layers(
        self, rng: np.random.Generator, shape: tuple[int, int], kind: PageKind, whole: bool
    ) -> list[Layer]:
        if kind in PAGES:
            return PAGES[kind](self.typography, rng, Plate.drawn(rng, shape, whole=whole))
        if whole:
            margin = int(rng.uniform(0.04, 0.1) * min(shape))
            block = self._text(rng, (shape[0] - 2 * margin, shape[1] - 2 * margin), kind, whole=True)
            text = np.pad(block, margin)
        else:
            text = self._text(rng, shape, kind)
        dark = ink_tone(rng, soot=kind == "papyrus")
        extras: list[Layer] = []
        draws = rng.random(3)
        file = self.fonts.pick(rng, "latin") or ""
        if draws[0] < 0.08 and kind != "papyrus":
            letter, box = initial(rng, shape, file, int(rng.uniform(50, 140)))
            text = text.copy()
            text[box] = 0
            extras.append(Layer(letter, np.array(COLOURED[rng.integers(2)], np.float32)))
        if draws[1] < 0.1:
            extras.append(Layer(rules(rng, shape, rng.uniform(1.2, 4)), dark, "line"))
        if draws[2] < 0.06 and kind != "papyrus":
            colour = np.array(COLOURED[rng.integers(len(COLOURED))]) * rng.uniform(0.5, 1)
            extras.append(Layer(round_stamp(rng, shape, file), colour.astype(np.float32), "stamp"))
        return [Layer(text, dark), *extras]

    def _text(
        self,
        rng: np.random.Generator,
        shape: tuple[int, int],
        kind: PageKind,
        *,
        scale: float = 1,
        whole: bool = False,
    ) -> Field:
        """The running text of this kind of page, `scale` times as large as on a page."""
        if kind == "pen":
            x_height = float(np.exp(rng.uniform(np.log(9), np.log(50)))) * scale
            text = written(hand(rng, x_height), rng, shape, whole=whole)
            return worn(text, rng, rng.uniform(0, 0.4) if scale == 1 else 0)
        script: Script = "greek" if kind == "papyrus" else "latin"
        if kind != "papyrus" and rng.random() < self.config.other_scripts:
            script = SCRIPTS[int(rng.integers(1, len(SCRIPTS)))]
        file = self.fonts.pick(rng, script, written=kind == "script") or self.fonts.pick(rng, script)
        if file is None:
            script, file = "latin", self.fonts.pick(rng, "latin", written=kind == "script") or ""
        size = int(np.exp(rng.uniform(np.log(16), np.log(110))) * scale)
        text = typeset(rng, shape, file, script, size, capitals=kind == "papyrus", whole=whole)
        if scale < 1:
            return text
        if rng.random() < 0.35:
            text = tilted(text, rng, 1.5)
        most = 1.4 if kind == "papyrus" else 0.9
        return worn(text, rng, rng.uniform(0, most) * min(1.0, size / 32))
