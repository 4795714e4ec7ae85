"""What a person should know about a result: shares, sizes, and flags for pages that need attention."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from drmamba.inference.analysis import PageAnalysis
from drmamba.inference.assessment import Assessment
from drmamba.inference.tiling import Probability
from drmamba.inference.view import PageView
from drmamba.inference.witness.structures import grown

UNCERTAIN = (0.2, 0.8)  # probabilities; a pixel between these two is uncertain
FAINT = 0.0235  # probability; above it, a pixel away from ink might have been ink
NEAR = 5  # pixels; in a square of this side around ink, a faint probability is the edge of a stroke
BLANK_SHARE = 2e-5  # of the page's pixels; a page with no more ink than this is blank
UNCERTAIN_RATIO = 0.5  # uncertain pixels for each certain pixel of ink; a page with more is doubtful
# Pixels across a stroke; fine strokes are all edge, so a doubtful page has more uncertain ones.
UNCERTAIN_WIDTH = 1.5
DENSE_SHARE = 0.35  # of the page's pixels; a page with more ink is rarely text

FLAGS = {
    "untrained": "the model has never been trained, so the result means nothing",
    "blank": "no ink was found",
    "inverted": "the page is white on black and was inverted",
    "sideways": "lines run up or down, so the network saw the page rotated",
    "dark_margins": "dark margins of the scan were removed",
    "uncertain": "many pixels of ink could as well be paper",
    "dense": "the page has more ink than text usually has",
    "lost_content": "structures of the page that are as dark and sharp as ink are missing",
    "kept_dirt": "there is ink where the page is hardly darker than its surroundings",
    "picture": "a picture in tone was found, which is not text",
    "second_look": "the network saw missing structures again, at another scale or with shifted windows",
    "restored": "structures that the network left out were taken from the page by a threshold",
    "stretched": "the ink is pale throughout, so the network saw the page with more contrast",
    "grained": "the page is cleaner than any scan of paper, so noise was added before inference",
    "bilevel": "the page was black and white already and was kept as it was",
    "rescaled": "strokes are far wider or narrower than usual, so the network saw the page at another scale",
}

# These flags concern a whole batch or are no reason to look at a page.
UNREMARKABLE = frozenset(
    {"untrained", "rescaled", "stretched", "grained", "bilevel", "dark_margins", "second_look", "restored"}
)
MAX_BOXES = 40  # boxes; a report lists no more of a kind, the largest first

Boxes = tuple[tuple[int, int, int, int], ...]  # left, top, right and bottom in pixels of the page


@dataclass(frozen=True, kw_only=True)
class Quality:
    """What is known about a result; every share is a share of the page's pixels."""

    ink: float
    uncertain: float
    stroke_width: float | None  # pixels; None if there are too few strokes to measure
    scale: float  # the scale at which the network saw the page
    # How likely something is missing, to sort pages by: what the witness misses or what the network nearly found, in
    # shares of the ink.
    doubt: float = 0.0
    flags: tuple[str, ...] = ()
    boxes: dict[str, Boxes] = field(default_factory=dict)  # the places that a flag is about

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a report."""
        boxes = {flag: [list(box) for box in found] for flag, found in self.boxes.items()}
        return asdict(self) | {"flags": list(self.flags), "boxes": boxes}


class QualityCounter:
    """Counts pixels band by band, then judges the page."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.pixels = self.ink = self.uncertain = self.certain = self.faint = 0

    def add(self, probability: Probability) -> None:
        """Count finished rows."""
        low, high = UNCERTAIN
        self.pixels += probability.size
        ink = probability > self.threshold
        self.ink += int(np.count_nonzero(ink))
        self.faint += int(np.count_nonzero((probability > FAINT) & ~grown(ink, NEAR)))
        above = int(np.count_nonzero(probability > low))
        self.certain += (certain := int(np.count_nonzero(probability >= high)))
        self.uncertain += above - certain

    def _doubtful(self, analysis: PageAnalysis) -> bool:
        width = analysis.strokes.width if analysis.strokes else np.inf
        across = width * self.uncertain / max(1, self.uncertain + self.certain)
        return self.uncertain > UNCERTAIN_RATIO * self.certain and across > UNCERTAIN_WIDTH

    def judge(
        self,
        analysis: PageAnalysis,
        view: PageView,
        *,
        margins: bool,
        trained: bool,
        assessment: Assessment,
    ) -> Quality:
        """Return the quality of the whole page; `margins` says whether dark margins were removed."""
        ink, uncertain = self.ink / self.pixels, self.uncertain / self.pixels
        verdict = assessment.verdict
        boxes: dict[str, Boxes] = {
            "lost_content": verdict.lost_boxes if verdict.has_lost else (),
            "kept_dirt": verdict.dirt_boxes if verdict.has_dirt else (),
            "picture": tuple(picture.box for picture in assessment.pictures),
        }
        blank = ink <= BLANK_SHARE
        true = {
            "untrained": not trained,
            "blank": blank,
            "inverted": view.inverted,
            "sideways": view.rotated,
            "dark_margins": margins,
            "uncertain": not blank and self._doubtful(analysis),
            "dense": ink > DENSE_SHARE,
            "lost_content": verdict.has_lost,
            "kept_dirt": verdict.has_dirt,
            "picture": bool(assessment.pictures),
            "second_look": assessment.second_look,
            "restored": assessment.restored,
            "stretched": view.gain != 1,
            "grained": view.noise > 0,
            "bilevel": view.bilevel,
            "rescaled": view.scale != 1,
        }
        return Quality(
            ink=round(ink, 6),
            uncertain=round(uncertain, 6),
            stroke_width=round(analysis.strokes.width, 2) if analysis.strokes else None,
            scale=round(view.scale, 4),
            doubt=round(max(verdict.lost, min(1.0, self.faint / max(1, self.ink))), 6),
            flags=tuple(flag for flag in FLAGS if true[flag]),
            boxes={flag: _largest(found) for flag, found in boxes.items() if found},
        )


def _largest(boxes: Boxes) -> Boxes:
    """Return as many boxes as a report lists, the largest first."""
    area = {box: (box[2] - box[0]) * (box[3] - box[1]) for box in boxes}
    return tuple(sorted(boxes, key=lambda box: -area[box])[:MAX_BOXES])
