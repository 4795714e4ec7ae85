"""Copies of a trained network with part of its block replaced, to measure what each route and the gate contribute."""

from __future__ import annotations

from copy import deepcopy
from typing import Literal, get_args

from torch import Tensor, nn

from drmamba.model.block import DualRouteBlock, Maps
from drmamba.model.network import DRMamba

# D or B is zero, beta is its mean over the map, or the block's contribution is its mean over the map.
Alteration = Literal["D=0", "B=0", "beta=mean", "block=mean"]
ALTERATIONS: tuple[Alteration, ...] = get_args(Alteration)


def altered(network: DRMamba, alteration: Alteration) -> DRMamba:
    """A copy of the network with that part of its block replaced."""
    network = deepcopy(network)
    network.block = _AlteredBlock(network.block, alteration)  # type: ignore[assignment]
    return network


class _AlteredBlock(nn.Module):
    def __init__(self, block: DualRouteBlock, alteration: Alteration) -> None:
        super().__init__()
        self.block, self.alteration = block, alteration

    def forward(
        self, u: Tensor, *, suppress: float | Tensor = 1.0, maps: bool = False
    ) -> tuple[Tensor, Maps | None]:
        if self.alteration == "block=mean":
            out, found = self.block(u, suppress=suppress, maps=maps)
            base = u if self.block.config.residual else 0
            return base + (out - base).mean((2, 3), keepdim=True).expand_as(out), found
        _, found = self.block(u, maps=True)
        D, B, beta = found
        if self.alteration == "D=0":
            D = D * 0
        elif self.alteration == "B=0":
            B, beta = B * 0, beta * 0  # O = D, whatever the resting level of B
        else:
            beta = beta.mean((2, 3), keepdim=True).expand_as(beta)
        found = Maps(D, B, beta)
        return self.block.fuse(u, found, suppress), found if maps else None
