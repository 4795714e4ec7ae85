"""Copies of a trained network with a part of it replaced, to measure what the routes, the gate and depth contribute."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Literal, get_args

from torch import Tensor, nn

from drmamba.config import BlockConfig
from drmamba.model.block import DualRouteBlock, Maps, gate_names
from drmamba.model.decoder import Decoder
from drmamba.model.network import DRMamba

# D or B is zero, or their mean over the map replaces beta, the block's contribution, or the deep features F_3 and F_4.
Alteration = Literal["D=0", "B=0", "beta=mean", "block=mean", "deep=mean"]
ALTERATIONS: tuple[Alteration, ...] = get_args(Alteration)


def applicable(config: BlockConfig) -> tuple[Alteration, ...]:
    """The alterations of what a network has: a single route has no B, and not every fusion has a gate."""
    if config.routes == "single":
        return ("block=mean", "deep=mean")
    return tuple(a for a in ALTERATIONS if a != "beta=mean" or "beta" in gate_names(config))


def altered(network: DRMamba, alteration: Alteration) -> DRMamba:
    """A copy of the network with that part replaced."""
    network = deepcopy(network)
    if alteration == "deep=mean":
        network.decoder = _ShallowDecoder(network.decoder)  # type: ignore[assignment]
        return network
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


class _ShallowDecoder(nn.Module):
    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.decoder = decoder

    def forward(self, features: list[Tensor], offsets: Sequence[Tensor] = ()) -> tuple[Tensor, ...]:
        even = [f.mean((2, 3), keepdim=True).expand_as(f).contiguous() for f in features[2:]]
        stages: tuple[Tensor, ...] = self.decoder([*features[:2], *even], offsets)
        return stages
