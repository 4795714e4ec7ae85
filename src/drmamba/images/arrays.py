"""The array types of pages, defined once for the whole package."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RGB = NDArray[np.uint8]  # (H, W, 3)
Ink = NDArray[np.bool_]  # (H, W); True is ink
DPI = tuple[float, float]  # horizontal and vertical resolution in dots per inch
