"""Degradations of old pages: pure functions of a page and a random generator, applied in a fixed order.

First the ink ages, then the sheet, then a scanner or camera takes the picture. Only holes, margins, erasing and
blank sides change the ground truth, because they remove ink.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Protocol

import numpy as np

from drmamba.config import DegradeConfig
from drmamba.data.degrade import camera, copies, ink, paper
from drmamba.data.degrade.legibility import LEAST_CONTRAST, legible
from drmamba.data.page import LabelledPage, Picture
from drmamba.images import Ink

__all__ = ["DEGRADATIONS", "Degradation", "MaterialSource", "degrade"]


class MaterialSource(Protocol):
    """A supply of material for degradations: the ink of other pages, and blank sheets."""

    def verso(self, rng: np.random.Generator, shape: tuple[int, int], *, fine: bool = True) -> Ink:
        """The ink of another page, which shows through from the back; it may be coarse unless it must be `fine`."""

    def sheet(self, rng: np.random.Generator, shape: tuple[int, int]) -> Picture:
        """A blank sheet."""


TRIES = 3  # attempts to degrade a page so that its ink can still be seen
# What takes the place of `LEAST_CONTRAST`, in shares of full brightness, where very pale ink is the point.
LEAST_CONTRAST_OF = {"pale": 0.015, "washed_out": 0.04}

Degradation = Callable[[LabelledPage, np.random.Generator, MaterialSource], LabelledPage]


def _alone(function: Callable[[LabelledPage, np.random.Generator], LabelledPage]) -> Degradation:
    return lambda page, rng, _: function(page, rng)


# In the order of application; the names are those of DegradeConfig, which holds their probabilities.
DEGRADATIONS: dict[str, Degradation] = {
    "new_paper": lambda page, rng, source: ink.new_paper(page, source.sheet(rng, page.shape), rng),
    "recoloured": _alone(ink.recoloured),
    "faint": _alone(ink.faint),
    "washed_out": _alone(ink.washed_out),
    "rulings": _alone(paper.rulings),
    "bleed_through": lambda page, rng, source: ink.bleed_through(page, source.verso, rng),
    "foxing": _alone(paper.foxing),
    "stain": _alone(paper.stain),
    "blots": _alone(paper.blots),
    "folds": _alone(paper.folds),
    "holes": _alone(paper.holes),
    "erased": _alone(paper.erased),
    "margin": _alone(paper.margin),
    "blank_side": lambda page, rng, source: copies.blank_side(
        source.sheet(rng, page.shape), source.verso, rng
    ),
    "pale": _alone(copies.pale),
    "illumination": _alone(camera.illumination),
    "snapshot": _alone(copies.snapshot),
    "out_of_focus": _alone(camera.out_of_focus),
    "defocus": _alone(camera.defocus),
    "contrast": _alone(camera.contrast),
    "colour": _alone(camera.colour),
    "grain": _alone(camera.grain),
    "microfilm": _alone(copies.microfilm),
    "photocopy": _alone(copies.photocopy),
    "grey": _alone(camera.grey),
    "jpeg": _alone(camera.jpeg),
    "clean": _alone(copies.clean),
}
# Degradations that are left out when another one is applied, because both together would lose the ink.
EXCLUDED: dict[str, tuple[str, ...]] = {
    # Beside bleed-through, the palest words of such a page could be either; other ink would be darker again.
    "washed_out": ("faint", "recoloured", "bleed_through"),
    "photocopy": ("faint", "washed_out"),
    "snapshot": ("illumination",),
    "microfilm": ("contrast", "photocopy"),
    "blank_side": ("pale", "washed_out"),
    "pale": ("faint", "washed_out", "recoloured", "contrast", "snapshot", "microfilm", "photocopy"),
}


def degrade(
    page: LabelledPage, rng: np.random.Generator, config: DegradeConfig, source: MaterialSource
) -> LabelledPage:
    """Apply each degradation with its probability; the share `untouched` of the pages stays as it is.

    If the ink has become invisible, the page is degraded anew; after TRIES attempts it stays as it is.
    """
    if rng.random() < config.untouched:
        return page
    for _ in range(TRIES):
        chosen = _chosen(rng, config)
        degraded = page
        for name in chosen:
            degraded = DEGRADATIONS[name](degraded, rng, source)
        least = min(
            (LEAST_CONTRAST_OF[name] for name in chosen if name in LEAST_CONTRAST_OF), default=LEAST_CONTRAST
        )
        if legible(degraded, least):
            return degraded
    return page


def _chosen(rng: np.random.Generator, config: DegradeConfig) -> list[str]:
    """Degradations drawn by their probabilities, without those that others exclude.

    A page that becomes `clean` looks born digital, so no other degradation is applied to it.
    """
    draws = rng.random(len(DEGRADATIONS))
    drawn = [name for name, draw in zip(DEGRADATIONS, draws, strict=True) if draw < getattr(config, name)]
    if "clean" in drawn:
        return ["clean"]
    excluded = {other for name in drawn for other in EXCLUDED.get(name, ())}
    return [name for name in drawn if name not in excluded]


assert {f.name for f in fields(DegradeConfig)} == {"untouched", *DEGRADATIONS}
