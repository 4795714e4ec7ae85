"""A page or a crop of one during data preparation: its picture and its ink, always of the same size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drmamba.images import Ink

Field = NDArray[np.float32]  # (H, W), one value per pixel, or (H, W, C)
Picture = NDArray[np.float32]  # (H, W, 3), RGB in [0, 1]


@dataclass(frozen=True)
class LabelledPage:
    """A picture and its ground truth, which is unknown where a photograph or a fine halftone lies on the page."""

    image: Picture
    ink: Ink
    unknown: Ink | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.ink.shape[0], self.ink.shape[1]

    def rotated(self, quarters: int) -> LabelledPage:
        """The page rotated anticlockwise by a number of quarter turns."""
        unknown = None if self.unknown is None else np.rot90(self.unknown, quarters)
        return LabelledPage(np.rot90(self.image, quarters), np.rot90(self.ink, quarters), unknown)

    def part(self, where: tuple[slice, slice]) -> LabelledPage:
        """Some rows and columns of the page."""
        unknown = None if self.unknown is None else self.unknown[where]
        return LabelledPage(self.image[where], self.ink[where], unknown)

    def contrast(self) -> float:
        """The difference in brightness (0 to 1) between paper and ink, estimated from every third pixel.

        A page without ink or without paper has a contrast of 0.5.
        """
        ink, image = self.ink[::3, ::3], self.image[::3, ::3]
        if not ink.any() or ink.all():
            return 0.5
        return abs(float(image[~ink].mean() - image[ink].mean()))
