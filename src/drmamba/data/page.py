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
    """A picture and its ground truth."""

    image: Picture
    ink: Ink

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.ink.shape[0], self.ink.shape[1]

    def rotated(self, quarters: int) -> LabelledPage:
        """The page rotated anticlockwise by a number of quarter turns."""
        return LabelledPage(np.rot90(self.image, quarters), np.rot90(self.ink, quarters))

    def contrast(self) -> float:
        """The difference in brightness (0 to 1) between paper and ink, estimated from every third pixel.

        A page without ink or without paper has a contrast of 0.5.
        """
        ink, image = self.ink[::3, ::3], self.image[::3, ::3]
        if not ink.any() or ink.all():
            return 0.5
        return abs(float(image[~ink].mean() - image[ink].mean()))
