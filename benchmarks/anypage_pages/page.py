"""What a made page consists of: the scan, the true ink by category, and the text that stands on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Grey = NDArray[np.uint8]
Box = tuple[float, float, float, float]  # left, top, right, bottom, in pixels

Category = Literal["text", "small print", "headline", "rule", "drawing"]
# Where layers overlap, a pixel belongs to the first category of this order.
CATEGORIES: tuple[Category, ...] = get_args(Category)
WRITING: tuple[Category, ...] = ("text", "small print", "headline")  # ink under the contests' convention, too


@dataclass(frozen=True)
class TextBlock:
    """A block of Latin print whose characters are known, so that an OCR program can be judged on it."""

    category: Category
    box: Box
    text: str
    turn: Literal[0, 90, 270] = 0  # degrees, anticlockwise, by which the block stands turned on the page


@dataclass(frozen=True)
class Page:
    """A made page. `scan` is what binarizers see; everything else is the truth about it."""

    kind: str
    number: int
    scan: NDArray[np.uint8]  # (H, W, 3)
    masks: dict[Category, Mask]  # (H, W) each, disjoint; only the categories that the page has
    tone: Mask  # (H, W); halftones and photographs, where no pixel is right or wrong
    blocks: list[TextBlock] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the page in files and results."""
        return f"{self.kind.replace(' ', '_')}-{self.number:03d}"

    @property
    def ink(self) -> Mask:
        """All true ink of the page."""
        return self.union(CATEGORIES)

    @property
    def writing(self) -> Mask:
        """The true ink that contests score: no rules and no drawings."""
        return self.union(WRITING)

    def union(self, categories: tuple[Category, ...]) -> Mask:
        """The true ink of some categories together."""
        result: Mask = np.zeros(self.scan.shape[:2], np.bool_)
        for category in categories:
            if category in self.masks:
                result |= self.masks[category]
        return result
