"""The contrast of a window, by which blank windows are recognised."""

from __future__ import annotations

import numpy as np

from drmamba.images import RGB


def contrast(window: RGB) -> int:
    """Return the largest spread of any colour channel, in levels of 255."""
    spread = window.max(axis=0).max(axis=0).astype(np.int16) - window.min(axis=0).min(axis=0)
    return int(spread.max())
