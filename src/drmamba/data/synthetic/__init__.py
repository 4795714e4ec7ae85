"""Synthetic degraded pages with exact ground truth, in any number."""

from drmamba.config import WORLDS, World
from drmamba.data.synthetic.scene import Synthesizer

__all__ = ["Synthesizer", "WORLDS", "World"]
