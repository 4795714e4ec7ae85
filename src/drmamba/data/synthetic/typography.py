"""Typography of synthetic pages: random scripts, faces, sizes and handwriting."""

from __future__ import annotations

import numpy as np

from drmamba.data.synthetic.fonts import BUILT_IN, Fonts, Style
from drmamba.data.synthetic.pen import Hand, hand
from drmamba.data.synthetic.texts import SCRIPTS, Script
from drmamba.data.synthetic.typecase import Face


class Typography:
    """Chooses scripts and faces from the available fonts; the share `other_scripts` of the pages is not Latin."""

    def __init__(self, fonts: Fonts, other_scripts: float) -> None:
        self.fonts, self.other_scripts = fonts, other_scripts

    def script(self, rng: np.random.Generator) -> Script:
        """A random script for a page."""
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
        """A random face for a script, or a Latin one if no font has the script."""
        file = self.fonts.pick(rng, script, written=written, style=style)
        if file is None and written:
            file = self.fonts.pick(rng, script, style=style)
        if file is None:
            return Face(self.fonts.pick(rng, "latin", written=written, style=style) or BUILT_IN, "latin")
        return Face(file, script)


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A random size whose logarithm is uniformly distributed."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def random_hand(rng: np.random.Generator, low: float = 8, high: float = 18) -> Hand:
    """A random writer whose x-height in pixels lies between `low` and `high`."""
    return hand(rng, log_uniform(rng, low, high))
