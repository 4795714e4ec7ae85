"""DR-Mamba: encoder, decoder, dual-route block, detail-guided reconstruction."""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from drmamba.config import STRIDES, Backend, ModelConfig
from drmamba.errors import InputError
from drmamba.model.block import DualRouteBlock, Maps
from drmamba.model.context import PageContext, PageFeatures
from drmamba.model.decoder import Decoder
from drmamba.model.detail import Reconstruction
from drmamba.model.encoder import Encoder, build_encoder

STRIDE = STRIDES[-1]  # inputs are padded to a multiple of it


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
        self.context = PageContext(facts.widths, config.context) if config.context else None
        self.convention: nn.Embedding | None = None
        if config.conventions:  # one vector a convention, added where the decoder begins
            self.convention = nn.Embedding(len(config.conventions), facts.widths[-1])
            nn.init.zeros_(self.convention.weight)
        self.decoder = Decoder(facts.widths, config.decoder, projected=config.projected)
        self.block = DualRouteBlock(config.decoder[-1], config.block, backend)
        self.auxiliary = nn.Conv2d(config.decoder[-1], 1, 1)
        self.reconstruction = Reconstruction(config.decoder[-1], config.detail)

    def forward(
        self,
        image: Tensor,
        *,
        suppress: float | Tensor = 1.0,
        maps: bool = False,
        convention: int | Tensor = 0,
        page: PageFeatures | Tensor | None = None,
        place: Tensor | None = None,
        visible: Tensor | None = None,
    ) -> Output:
        """RGB in [0, 1], (B, 3, H, W) of any size, to logits (B, H, W).

        `suppress` scales the gate beta: 0 takes no background away, 1 is the model's own choice. `convention`, one
        number or (B,), is the place of an ink convention among the config's. `page` is the page that the windows are
        parts of, reduced, (B, 3, h, w), or what `look` found on it, and `place` (B, 2) where they lie; without them a
        window stands alone, and so does one that is not `visible` (B,).
        """
        height, width = image.shape[-2:]
        padded = _padded(image)
        if isinstance(page, Tensor):
            page = self.look(page)
        u = self.decoded(padded, convention, page, place, visible)
        o, seen = self.block(u, suppress=suppress, maps=maps)  # Eqs. (5)-(12)
        logits = self.reconstruction(o, padded)  # Eqs. (13)-(16)
        return Output(logits[:, :height, :width], self.auxiliary(o)[:, 0], seen)

    def look(self, reduced: Tensor) -> PageFeatures | None:
        """What windows need to know of their page, from the page reduced, (B, 3, h, w); None: nothing.

        The encoder learns from windows alone: here it runs as at inference, without a gradient, which costs a third.
        """
        if self.context is None:
            return None
        training = self.encoder.training
        self.encoder.eval()
        with torch.no_grad():
            features = self.encoder((_padded(reduced) - self.mean) / self.std)
        self.encoder.train(training)
        return self.context.project(features)

    def routes(
        self,
        image: Tensor,
        *,
        convention: int | Tensor = 0,
        page: PageFeatures | None = None,
        place: Tensor | None = None,
    ) -> Routes:
        """The forward pass as far as the maps; `fuse` goes on from there, as often as one likes."""
        padded = _padded(image)
        u = self.decoded(padded, convention, page, place)
        _, maps = self.block(u, maps=True)
        return Routes(padded, u, maps, (image.shape[-2], image.shape[-1]))

    def fuse(self, routes: Routes, suppress: float | Tensor = 1.0) -> Tensor:
        """Logits (B, H, W) from kept routes: those of `forward` with this `suppress`."""
        height, width = routes.size
        o = self.block.fuse(routes.u, routes.maps, suppress)
        logits: Tensor = self.reconstruction(o, routes.page)
        return logits[:, :height, :width]

    def decoded(
        self,
        padded: Tensor,
        convention: int | Tensor = 0,
        page: PageFeatures | None = None,
        place: Tensor | None = None,
        visible: Tensor | None = None,
    ) -> Tensor:
        """U_2 of windows whose sides are multiples of 32."""
        features = self.encoder((padded - self.mean) / self.std)  # Eq. (1)
        if self.context is not None and page is not None and place is not None:
            features = self.context(features, page, place, visible)
        if self.convention is not None:
            asked = torch.as_tensor(convention, device=padded.device).reshape(-1)
            features = [*features[:3], features[3] + self.convention(asked)[:, :, None, None]]
        u: Tensor = self.decoder(features)  # Eqs. (2)-(4)
        return u


def _padded(image: Tensor) -> Tensor:
    if image.ndim != 4 or image.shape[1] != 3 or 0 in image.shape:
        raise InputError(f"the network takes (batch, 3, height, width), got {tuple(image.shape)}")
    if not image.is_floating_point():
        raise InputError(f"the network takes floating point in [0, 1], got {image.dtype}")
    height, width = image.shape[-2:]
    return F.pad(image, (0, -width % STRIDE, 0, -height % STRIDE), mode="replicate")
