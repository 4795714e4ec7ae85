"""What the rows or columns of a tensor mean where their number depends on the settings.

Two networks that differ in one setting can then share what both of them have: the projections of s, g and delta belong
to a block without beta as well as to one with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor

from drmamba.config import ModelConfig
from drmamba.model.block import gate_names


class Parts(NamedTuple):
    """The parts of a tensor: blocks of equal size along an axis, in the order of their names."""

    axis: int
    names: tuple[str, ...]

    def of(self, tensor: Tensor) -> dict[str, Tensor]:
        """Views of the parts by name."""
        if len(self.names) == 1:  # A number cannot be divided.
            return {self.names[0]: tensor}
        return dict(zip(self.names, tensor.chunk(len(self.names), self.axis), strict=True))


WHOLE = Parts(0, ("",))  # a tensor that has one meaning as a whole


def tensor_parts(config: ModelConfig) -> Mapping[str, Parts]:
    """The parts of each tensor that has several, by the tensor's name."""
    gates = Parts(0, gate_names(config.block))
    joined = ("up", "detail") if config.detail.enabled else ("up",)
    return {
        "block.gates.weight": gates,
        "block.gates.bias": gates,
        "block.join.weight": Parts(1, ("D", "B")),
        "reconstruction.fuse.0.weight": Parts(1, joined),
    }
