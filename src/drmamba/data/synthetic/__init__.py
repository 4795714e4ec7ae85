"""Degraded pages without end, made here, with exact ground truth."""

from drmamba.config import WORLDS, World
from drmamba.data.synthetic.scene import Synthesizer

__all__ = ["Synthesizer", "WORLDS", "World"]
