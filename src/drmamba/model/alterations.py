"""Copies of a trained network with part of its block replaced, to measure what each route and the gate contribute."""

from __future__ import annotations

from copy import deepcopy
from typing import Literal, get_args

from torch import Tensor, nn

from drmamba.config import BlockConfig
from drmamba.model.block import DualRouteBlock, Maps, gate_names
from drmamba.model.network import DRMamba

# D or B is zero, beta is its mean over the map, or the block's contribution is its mean over the map.
Alteration = Literal["D=0", "B=0", "beta=mean", "block=mean"]
ALTERATIONS: tuple[Alteration, ...] = get_args(Alteration)


def applicable(config: BlockConfig) -> tuple[Alteration, ...]:
    """The alterations of what a block has: a single route has no B, and not every fusion has a gate."""
    if config.routes == "single":
        return ("block=mean",)
    return tuple(a for a in ALTERATIONS if a != "beta=mean" or "beta" in gate_names(config))


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
            rest = self.block.B_0[:, None, None] if self.block.centred else 0
            B, beta = B * 0 + rest, beta * 0  # nothing is added to D, by any fusion
        else:
            beta = beta.mean((2, 3), keepdim=True).expand_as(beta)
        found = Maps(D, B, beta)
        return self.block.fuse(u, found, suppress), found if maps else None
