"""The print shop: which faces, sizes and hands the pages of all kinds are made with."""

from __future__ import annotations

import numpy as np

from drmamba.data.synthetic.fonts import BUILT_IN, Fonts, Style
from drmamba.data.synthetic.pen import Hand, hand
from drmamba.data.synthetic.texts import SCRIPTS, Script
from drmamba.data.synthetic.typecase import Face


class Shop:
    """Faces by wish, from whatever fonts there are; a share of the pages is in other scripts than Latin."""

    def __init__(self, fonts: Fonts, other_scripts: float) -> None:
        self.fonts, self.other_scripts = fonts, other_scripts

    def script(self, rng: np.random.Generator) -> Script:
        """The script of a page."""
        if rng.random() < self.other_scripts:
            return SCRIPTS[int(rng.integers(1, len(SCRIPTS)))]
        return "latin"

    def face(
        self,
        rng: np.random.Generator,
        script: Script = "latin",
        *,
        written: bool = False,
        style: Style = "any",
    ) -> Face:
        """A face for a script; a Latin one where no font has the script."""
        file = self.fonts.pick(rng, script, written=written, style=style)
        if file is None and written:
            file = self.fonts.pick(rng, script, style=style)
        if file is None:
            return Face(self.fonts.pick(rng, "latin", written=written, style=style) or BUILT_IN, "latin")
        return Face(file, script)


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A random size: every doubling is equally likely."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def clerk(rng: np.random.Generator, low: float = 8, high: float = 18) -> Hand:
    """Somebody who fills in forms and keeps books, in small letters."""
    return hand(rng, log_uniform(rng, low, high))
