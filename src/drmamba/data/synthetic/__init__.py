"""Synthetic degraded pages with exact ground truth, in any number."""

from drmamba.config import PAGE_KINDS, PageKind
from drmamba.data.synthetic.scene import Synthesizer

__all__ = ["Synthesizer", "PAGE_KINDS", "PageKind"]
