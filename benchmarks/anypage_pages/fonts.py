"""The fonts of the made pages. They come from packages of the extra `anypage`, never from the system.

Training sets its pages in the fonts of the system, so a page in one of those would be a page that the network knows.
All families are under the Open Font License; the stroke fonts of Hershey are under the MIT license.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Literal

import numpy as np
from PIL import ImageFont

from drmamba.errors import MissingExtra

Role = Literal["book", "narrow", "display", "capitals", "typewriter", "hand"]

# Family and weight. A family may serve several roles.
FAMILIES: dict[Role, tuple[tuple[str, int], ...]] = {
    "book": (
        ("PT Serif", 400),
        ("Libre Baskerville", 400),
        ("Crimson Text", 400),
        ("Vollkorn", 400),
        ("Cardo", 400),
        ("Playfair Display", 500),
    ),
    "narrow": (("Archivo Narrow", 400), ("Libre Franklin", 400), ("Archivo Narrow", 600)),
    "display": (
        ("Abril Fatface", 400),
        ("Alfa Slab One", 400),
        ("Anton", 400),
        ("Oswald", 600),
        ("Playfair Display", 800),
        ("Libre Baskerville", 700),
    ),
    "capitals": (("Cinzel", 600), ("Cinzel", 800), ("Playfair Display", 700)),
    "typewriter": (("IBM Plex Mono", 400), ("IBM Plex Mono", 500), ("Space Mono", 400)),
    "hand": (
        ("Caveat", 500),
        ("Dancing Script", 500),
        ("Kalam", 300),
        ("Shadows Into Light", 400),
        ("Indie Flower", 400),
    ),
}
# Families for other writing systems, each with the language that it is used for here.
SCRIPT_FAMILIES: dict[str, tuple[str, ...]] = {
    "russian": ("PT Serif", "Vollkorn"),
    "greek": ("Cardo", "Vollkorn"),
    "hebrew": ("Frank Ruhl Libre",),
    "arabic": ("Amiri",),
    "hindi": ("Hind",),
    "thai": ("Sarabun",),
}


def _library(name: str) -> Any:
    """A package of the extra, or an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtra(name.partition(".")[0], "anypage") from error


@cache
def load_font(family: str, size: int, weight: int = 400, style: str = "normal") -> ImageFont.FreeTypeFont:
    """A font by family and size in pixels."""
    package = _library("fontpkg")
    pil = _library("fontpkg.pil")
    try:
        font: ImageFont.FreeTypeFont = pil.truetype(family, size, weight=weight, style=style)
    except package.FamilyNotInstalled as error:
        raise MissingExtra(f"fontpkg-{family.lower().replace(' ', '-')}", "anypage") from error
    return font


def pick_font(rng: np.random.Generator, role: Role, size: int) -> ImageFont.FreeTypeFont:
    """Any font of a role."""
    family, weight = FAMILIES[role][rng.integers(len(FAMILIES[role]))]
    return load_font(family, size, weight)


@cache
def stroke_font(name: str) -> Any:
    """A stroke font of Hershey's, which gives its letters as the paths of a pen."""
    font = _library("HersheyFonts").HersheyFonts()
    font.load_default_font(name)
    return font


def require_fonts() -> None:
    """Raise now, with the name of the extra, if any family is missing."""
    families = {family: weight for members in FAMILIES.values() for family, weight in members}
    for family, weight in families.items():
        load_font(family, 20, weight)
    for family in sorted({family for members in SCRIPT_FAMILIES.values() for family in members}):
        load_font(family, 20)
    stroke_font("scripts")
