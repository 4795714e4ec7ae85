"""Made pages of ordinary kinds with exact truth; they share no code, fonts or textures with training."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np

from anypage_pages import (
    kinds_copies,
    kinds_damage,
    kinds_drawings,
    kinds_pictures,
    kinds_print,
    kinds_records,
)
from anypage_pages.fonts import require_fonts
from anypage_pages.page import CATEGORIES, WRITING, Category, Mask, Page, TextBlock

__all__ = [
    "CATEGORIES",
    "KINDS",
    "WRITING",
    "Category",
    "Mask",
    "Page",
    "TextBlock",
    "generator_digest",
    "make_page",
    "page_count",
    "require_fonts",
]

KINDS: dict[str, Callable[[int, np.random.Generator], Page]] = {
    "newspaper": kinds_print.newspaper,
    "small print": kinds_print.small_print,
    "frame and ornaments": kinds_print.ornament,
    "two directions": kinds_print.two_directions,
    "other scripts": kinds_print.other_scripts,
    "table": kinds_records.table,
    "form": kinds_records.form,
    "ledger": kinds_records.ledger,
    "music": kinds_drawings.music,
    "map": kinds_drawings.map_sheet,
    "line drawing": kinds_drawings.line_drawing,
    "engraving": kinds_drawings.engraving,
    "typescript": kinds_copies.typescript,
    "pencil": kinds_copies.pencil,
    "photocopy": kinds_copies.photocopy,
    "microfilm": kinds_copies.microfilm,
    "photograph": kinds_copies.photograph,
    "reversed band": kinds_copies.reversed_band,
    "photograph with caption": kinds_pictures.caption,
    "distant bleed-through": kinds_damage.distant_bleed,
    "half stain": kinds_damage.half_stain,
    "washed out": kinds_damage.washed_out,
}
USUAL_COUNT = 8
COUNTS = {"distant bleed-through": 40, "half stain": 40}


def page_count(kind: str) -> int:
    """How many pages of a kind the whole benchmark has."""
    return COUNTS.get(kind, USUAL_COUNT)


def make_page(kind: str, number: int) -> Page:
    """Page `number` of a kind: always the same one, whatever was made before it."""
    seed = int.from_bytes(hashlib.sha256(f"{kind}/{number}".encode()).digest()[:8], "big")
    return KINDS[kind](number, np.random.default_rng(seed))


def generator_digest() -> str:
    """A digest of everything that decides the pages: this code, the fonts and the libraries that draw."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    fonts = {
        f"{name}=={found.version}"
        for found in metadata.distributions()
        if (name := (found.name or "").lower().replace("_", "-")).startswith(("fontpkg", "hershey"))
    }
    libraries = [f"{name}=={metadata.version(name)}" for name in ("contourpy", "numpy", "pillow", "scipy")]
    digest.update("\n".join([*sorted(fonts), *libraries]).encode())
    return digest.hexdigest()
