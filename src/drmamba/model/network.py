"""DR-Mamba: encoder, decoder, dual-route block, detail-guided reconstruction."""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from drmamba.config import Backend, ModelConfig
from drmamba.errors import InputError
from drmamba.model.block import DualRouteBlock, Maps
from drmamba.model.decoder import Decoder
from drmamba.model.detail import Reconstruction
from drmamba.model.encoder import Encoder, build_encoder

STRIDE = 32  # of the deepest feature; inputs are padded to a multiple


class Output(NamedTuple):
    """What one forward pass gives."""

    logits: Tensor  # P: (B, H, W), ink where positive
    auxiliary: Tensor  # (B, h, w) at stride 4, for deep supervision
    maps: Maps | None  # D, B and beta, if asked for


class Routes(NamedTuple):
    """All that the fusion needs: with it, another `suppress` costs only what comes after the scans."""

    page: Tensor  # padded, (B, 3, H', W')
    u: Tensor  # U_2, the block's input
    maps: Maps  # at suppress = 1
    size: tuple[int, int]  # H, W


class DRMamba(nn.Module):
    """The whole network, from one config.

    >>> from drmamba import DRMamba, preset
    >>> network = DRMamba(preset("lite")).eval()
    >>> network(torch.rand(1, 3, 50, 70)).logits.shape
    torch.Size([1, 50, 70])
    """

    mean: Tensor
    std: Tensor

    def __init__(self, config: ModelConfig, backend: Backend = "auto") -> None:
        super().__init__()
        self.config = config
        self.encoder = build_encoder(config.encoder)
        facts = cast(Encoder, self.encoder)
        self.register_buffer("mean", torch.tensor(facts.mean).view(3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(facts.std).view(3, 1, 1), persistent=False)
        self.decoder = Decoder(facts.widths, config.decoder)
        self.block = DualRouteBlock(config.decoder[-1], config.block, backend)
        self.auxiliary = nn.Conv2d(config.decoder[-1], 1, 1)
        self.reconstruction = Reconstruction(config.decoder[-1], config.detail)

    def forward(self, image: Tensor, *, suppress: float | Tensor = 1.0, maps: bool = False) -> Output:
        """RGB in [0, 1], (B, 3, H, W) of any size, to logits (B, H, W).

        `suppress` scales the gate beta: 0 takes no background away, 1 is the model's own choice.
        """
        height, width = image.shape[-2:]
        page = _padded(image)
        o, seen = self.block(self._decoded(page), suppress=suppress, maps=maps)  # Eqs. (5)-(12)
        logits = self.reconstruction(o, page)  # Eqs. (13)-(16)
        return Output(logits[:, :height, :width], self.auxiliary(o)[:, 0], seen)

    def routes(self, image: Tensor) -> Routes:
        """The forward pass as far as the maps; `fuse` goes on from there, as often as one likes."""
        page = _padded(image)
        u = self._decoded(page)
        _, maps = self.block(u, maps=True)
        return Routes(page, u, maps, (image.shape[-2], image.shape[-1]))

    def fuse(self, routes: Routes, suppress: float | Tensor = 1.0) -> Tensor:
        """Logits (B, H, W) from kept routes: those of `forward` with this `suppress`."""
        height, width = routes.size
        o = self.block.fuse(routes.u, routes.maps, suppress)
        logits: Tensor = self.reconstruction(o, routes.page)
        return logits[:, :height, :width]

    def _decoded(self, page: Tensor) -> Tensor:
        features = self.encoder((page - self.mean) / self.std)  # Eq. (1)
        u: Tensor = self.decoder(features)  # Eqs. (2)-(4)
        return u


def _padded(image: Tensor) -> Tensor:
    if image.ndim != 4 or image.shape[1] != 3 or 0 in image.shape:
        raise InputError(f"the network takes (batch, 3, height, width), got {tuple(image.shape)}")
    if not image.is_floating_point():
        raise InputError(f"the network takes floating point in [0, 1], got {image.dtype}")
    height, width = image.shape[-2:]
    return F.pad(image, (0, -width % STRIDE, 0, -height % STRIDE), mode="replicate")
