"""Degraded pages without end, made here, with exact ground truth."""

from drmamba.data.synthetic.scene import WORLDS, Synthesizer, World

__all__ = ["Synthesizer", "WORLDS", "World"]
