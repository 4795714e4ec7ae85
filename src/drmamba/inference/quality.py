"""What a person should know about a result: shares, sizes, and flags for pages worth a look."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from drmamba.inference.survey import Survey
from drmamba.inference.tiling import Probability

DOUBT = (0.2, 0.8)  # probabilities between these are uncertain
BLANK_SHARE = 2e-5  # of ink, at most, on a blank page
UNCERTAIN_RATIO = 0.5  # uncertain pixels for each sure one of ink, from which on a page is doubtful
UNCERTAIN_WIDTH = 1.5  # pixels across a stroke, that must be uncertain as well: fine strokes are all edge
DENSE_SHARE = 0.35  # of ink: more is no text

FLAGS = {
    "untrained": "the model has never been trained; the result means nothing",
    "blank": "no ink was found",
    "inverted": "white on black; the page was turned round",
    "sideways": "lines run up or down; the network saw the page turned",
    "dark_margins": "dark margins of the scan were taken away",
    "uncertain": "many pixels could as well be paper",
    "dense": "so much ink is rarely text",
    "grained": "cleaner than paper is; the network saw the page with a little grain",
    "bilevel": "black and white already; kept as it was",
    "rescaled": "strokes are far wider or narrower than usual; the network saw another size",
}

UNREMARKABLE = frozenset(
    {"untrained", "rescaled", "grained", "bilevel"}
)  # said of a whole batch, or no reason to look at a page


@dataclass(frozen=True)
class View:
    """How the network sees a page."""

    scale: float = 1.0
    inverted: bool = False  # light and dark exchanged
    sideways: bool = False  # turned by a quarter
    grain: float = 0.0  # in grey levels
    solid: float = 0.0  # grey level below which all is ink
    bilevel: bool = False  # not at all: the page is black and white already


@dataclass(frozen=True, kw_only=True)
class Quality:
    """A page's record; every share is of the page's pixels."""

    ink: float
    uncertain: float
    stroke_width: float | None  # pixels; None where there are too few strokes to measure
    scale: float  # at which the network saw the page
    flags: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a report."""
        return asdict(self) | {"flags": list(self.flags)}


class Tally:
    """Counts pixels band by band, then judges the page."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.pixels = self.ink = self.uncertain = self.sure = 0

    def add(self, probability: Probability) -> None:
        """Count finished rows."""
        low, high = DOUBT
        self.pixels += probability.size
        self.ink += int(np.count_nonzero(probability > self.threshold))
        above = int(np.count_nonzero(probability > low))
        self.sure += (sure := int(np.count_nonzero(probability >= high)))
        self.uncertain += above - sure

    def _doubtful(self, survey: Survey) -> bool:
        width = survey.strokes.width if survey.strokes else np.inf
        across = width * self.uncertain / max(1, self.uncertain + self.sure)
        return self.uncertain > UNCERTAIN_RATIO * self.sure and across > UNCERTAIN_WIDTH

    def judge(self, survey: Survey, view: View, *, margins: bool, trained: bool) -> Quality:
        """The record of the whole page."""
        ink, uncertain = self.ink / self.pixels, self.uncertain / self.pixels
        blank = ink <= BLANK_SHARE
        seen = {
            "untrained": not trained,
            "blank": blank,
            "inverted": view.inverted,
            "sideways": view.sideways,
            "dark_margins": margins,
            "uncertain": not blank and self._doubtful(survey),
            "dense": ink > DENSE_SHARE,
            "grained": view.grain > 0,
            "bilevel": view.bilevel,
            "rescaled": view.scale != 1,
        }
        return Quality(
            ink=round(ink, 6),
            uncertain=round(uncertain, 6),
            stroke_width=round(survey.strokes.width, 2) if survey.strokes else None,
            scale=round(view.scale, 4),
            flags=tuple(flag for flag in FLAGS if seen[flag]),
        )
