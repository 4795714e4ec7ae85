"""DR-Mamba: encoder, decoder, dual-route block, detail-guided reconstruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from drmamba.config import STRIDES, Backend, ModelConfig
from drmamba.errors import InputError
from drmamba.model.block import DualRouteBlock, Maps
from drmamba.model.context import PageContext, PageFeatures
from drmamba.model.decoder import Decoder
from drmamba.model.detail import build_reconstruction
from drmamba.model.encoder import Encoder, build_encoder

# Standard deviation of the conventions' offsets at the start, so that they differ from then on.
CONVENTION_STD = 0.5


class Output(NamedTuple):
    """The result of one forward pass."""

    logits: Tensor  # P: (B, H, W), ink where positive
    # For deep supervision: (B, h, w) from O_DR at stride 4; in training with `deep_supervision` also from U_3 and U_4.
    auxiliary: tuple[Tensor, ...]
    maps: Maps | None  # D, B and beta, if requested


class Routes(NamedTuple):
    """Everything that the fusion needs, so that another `suppress` costs only the part after the scans."""

    page: Tensor  # padded, (B, 3, H', W')
    u: Tensor  # U_2, the block's input
    maps: Maps  # at suppress = 1
    size: tuple[int, int]  # H, W
    convention: int | Tensor = 0  # as in `DRMamba.forward`


class DRMamba(nn.Module):
    """The whole network, built from one config.

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
        if config.conventions:
            # One vector per convention is added in parts to the output of each stage of the decoder.
            self.convention = nn.Embedding(len(config.conventions), sum(config.decoder))
            nn.init.normal_(self.convention.weight, std=CONVENTION_STD)
        self.convention_output: nn.Embedding | None = None
        if config.conventions and config.convention_output:
            # Another vector is added to O_DR. It begins as zero, which changes nothing in a network that had none.
            self.convention_output = nn.Embedding(len(config.conventions), config.decoder[-1])
            nn.init.zeros_(self.convention_output.weight)
        self.decoder = Decoder(facts.widths, config.decoder, projected=config.projected)
        self.block = DualRouteBlock(config.decoder[-1], config.block, backend)
        self.auxiliary = nn.Conv2d(config.decoder[-1], 1, 1)
        self.deep_auxiliary = nn.ModuleList(
            nn.Conv2d(width, 1, 1) for width in reversed(config.decoder[:-1]) if config.deep_supervision
        )
        self.reconstruction = build_reconstruction(config.decoder[-1], config.detail)

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
        """Map RGB in [0, 1], (B, 3, H, W) of any size, to logits (B, H, W).

        `suppress` scales the gate beta: 0 subtracts no background, 1 is the model's own choice. `convention`, a number
        or (B,), is the index of an ink convention in the config. `page` is the reduced page that the windows belong to,
        (B, 3, h, w), or its features from `look`, and `place` (B, 2) the position of the windows on it. Without them,
        or where `visible` (B,) is 0, a window is processed without page context.
        """
        height, width = image.shape[-2:]
        padded = _padded(image)
        if isinstance(page, Tensor):
            page = self.look(page)
        *deep, u = self.stages(padded, convention, page, place, visible)
        o, seen = self.block(u, suppress=suppress, maps=maps)  # Eqs. (5)-(12)
        o = self.under_convention(o, convention)
        logits = self.reconstruction(o, padded)  # Eqs. (13)-(16)
        auxiliary = [self.auxiliary(o)[:, 0]]
        if self.training and self.deep_auxiliary:
            auxiliary += [head(v)[:, 0] for head, v in zip(self.deep_auxiliary, reversed(deep), strict=True)]
        return Output(logits[:, :height, :width], tuple(auxiliary), seen)

    def look(self, reduced: Tensor) -> PageFeatures | None:
        """The page features for windows, from the reduced page (B, 3, h, w); None without page context."""
        return None if self.context is None else self.context.see((_padded(reduced) - self.mean) / self.std)

    def routes(
        self,
        image: Tensor,
        *,
        convention: int | Tensor = 0,
        page: PageFeatures | None = None,
        place: Tensor | None = None,
    ) -> Routes:
        """The forward pass up to the maps; `fuse` continues from there, any number of times."""
        padded = _padded(image)
        *_, u = self.stages(padded, convention, page, place)
        _, maps = self.block(u, maps=True)
        return Routes(padded, u, maps, (image.shape[-2], image.shape[-1]), convention)

    def fuse(self, routes: Routes, suppress: float | Tensor = 1.0) -> Tensor:
        """The logits (B, H, W) that `forward` would give with this `suppress`, from stored routes."""
        height, width = routes.size
        o = self.under_convention(self.block.fuse(routes.u, routes.maps, suppress), routes.convention)
        logits: Tensor = self.reconstruction(o, routes.page)
        return logits[:, :height, :width]

    def stages(
        self,
        padded: Tensor,
        convention: int | Tensor = 0,
        page: PageFeatures | None = None,
        place: Tensor | None = None,
        visible: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """U_4, U_3 and U_2 of windows whose sides are multiples of the largest stride."""
        features = self.encoder((padded - self.mean) / self.std)  # Eq. (1)
        if self.context is not None and page is not None and place is not None:
            features = self.context(features, page, place, visible)
        stages: tuple[Tensor, ...] = self.decoder(features, self.offsets(convention))  # Eqs. (2)-(4)
        return stages

    def offsets(self, convention: int | Tensor) -> Sequence[Tensor]:
        """What an ink convention adds to U_4, U_3 and U_2, each (1 or B, channels, 1, 1).

        Nothing is added in a network that knows one convention only.
        """
        if self.convention is None:
            return ()
        offsets: Sequence[Tensor] = _asked(self.convention, convention).split(self.config.decoder, 1)
        return offsets

    def under_convention(self, o: Tensor, convention: int | Tensor) -> Tensor:
        """O_DR with what an ink convention adds to it, by which the reconstruction knows how bold strokes are."""
        return o if self.convention_output is None else o + _asked(self.convention_output, convention)


def _asked(vectors: nn.Embedding, convention: int | Tensor) -> Tensor:
    """The vectors of one convention or of one for each image, (1 or B, channels, 1, 1)."""
    numbers = torch.as_tensor(convention, device=vectors.weight.device).reshape(-1)
    found: Tensor = vectors(numbers)[:, :, None, None]
    return found


def _padded(image: Tensor) -> Tensor:
    if image.ndim != 4 or image.shape[1] != 3 or 0 in image.shape:
        raise InputError(f"the network takes (batch, 3, height, width), got {tuple(image.shape)}")
    if not image.is_floating_point():
        raise InputError(f"the network takes floating point in [0, 1], got {image.dtype}")
    height, width = image.shape[-2:]
    multiple = STRIDES[-1]
    return F.pad(image, (0, -width % multiple, 0, -height % multiple), mode="replicate")
