"""Degradations of old pages: pure functions of a page, applied in the order in which they happen.

First the ink ages, then the sheet, then a camera takes its picture. Every function gets its random
generator; only holes, margins and erasing change the ink that counts, for there it is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Protocol

import numpy as np

from drmamba.config import DegradeConfig
from drmamba.data.degrade import camera, copies, ink, paper
from drmamba.data.page import Page, Picture
from drmamba.images import Ink

__all__ = ["DEGRADATIONS", "Degradation", "Stock", "degrade"]


class Stock(Protocol):
    """Where degradations take their material from."""

    def verso(self, rng: np.random.Generator, shape: tuple[int, int]) -> Ink:
        """Ink of another page, to show through."""

    def sheet(self, rng: np.random.Generator, shape: tuple[int, int]) -> Picture:
        """A blank sheet."""


Degradation = Callable[[Page, np.random.Generator, Stock], Page]


def _alone(function: Callable[[Page, np.random.Generator], Page]) -> Degradation:
    return lambda page, rng, _: function(page, rng)


# In the order in which they happen; the names are those of DegradeConfig, which holds their chances.
DEGRADATIONS: dict[str, Degradation] = {
    "new_paper": lambda page, rng, stock: ink.new_paper(page, stock.sheet(rng, page.shape), rng),
    "recoloured": _alone(ink.recoloured),
    "faint": _alone(ink.faint),
    "rulings": _alone(paper.rulings),
    "bleed_through": lambda page, rng, stock: ink.bleed_through(page, stock.verso(rng, page.shape), rng),
    "foxing": _alone(paper.foxing),
    "stain": _alone(paper.stain),
    "blots": _alone(paper.blots),
    "folds": _alone(paper.folds),
    "holes": _alone(paper.holes),
    "erased": _alone(paper.erased),
    "margin": _alone(paper.margin),
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
# What is left out where another happens: both together would lose the ink.
EXCLUDED: dict[str, tuple[str, ...]] = {
    "photocopy": ("faint",),
    "snapshot": ("illumination",),
    "microfilm": ("contrast", "photocopy"),
}


def degrade(page: Page, rng: np.random.Generator, config: DegradeConfig, stock: Stock) -> Page:
    """Apply each degradation with its chance; a share of the pages stays as it is, and some are clean.

    A clean page is born digital, so that nothing else happens to it.
    """
    if rng.random() < config.untouched:
        return page
    lots = rng.random(len(DEGRADATIONS))
    happen = [name for name, lot in zip(DEGRADATIONS, lots, strict=True) if lot < getattr(config, name)]
    if "clean" in happen:
        happen = ["clean"]
    excluded = {other for name in happen for other in EXCLUDED.get(name, ())}
    for name in happen:
        if name not in excluded:
            page = DEGRADATIONS[name](page, rng, stock)
    return page


assert {f.name for f in fields(DegradeConfig)} == {"untouched", *DEGRADATIONS}
