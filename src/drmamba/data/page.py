"""One page or crop while it is being worked on: its picture and its ink, always of the same size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drmamba.images import Ink

Picture = NDArray[np.float32]  # (H, W, 3), RGB in [0, 1]


@dataclass(frozen=True)
class Page:
    """A picture and the ink that is truly on it."""

    image: Picture
    ink: Ink

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.ink.shape[0], self.ink.shape[1]

    def turned(self, quarters: int) -> Page:
        """The page after so many quarter turns."""
        return Page(np.rot90(self.image, quarters), np.rot90(self.ink, quarters))

    def contrast(self) -> float:
        """How much darker (0 to 1) the ink is than the paper on average, roughly; 0.5 where one is missing."""
        ink, image = self.ink[::3, ::3], self.image[::3, ::3]
        if not ink.any() or ink.all():
            return 0.5
        return abs(float(image[~ink].mean() - image[ink].mean()))
