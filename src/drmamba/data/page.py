"""One page or crop while it is being worked on: its picture and its ink, always of the same size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.float32]  # (H, W, 3), RGB in [0, 1]
Ink = NDArray[np.bool_]  # (H, W), True = ink


@dataclass(frozen=True)
class Page:
    """A picture and the ink that is truly on it."""

    image: Picture
    ink: Ink

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.ink.shape[0], self.ink.shape[1]
