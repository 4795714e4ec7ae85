"""Detail-guided reconstruction, Eqs. (13)-(16): edges at full resolution, sub-pixel up-sampling, the head."""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from drmamba.config import STRIDES, DetailConfig
from drmamba.model.decoder import conv_norm_act
from drmamba.model.norm import NormAct


class Sobel(nn.Module):
    """|G_x| and |G_y| of each colour channel with fixed 3 x 3 kernels, Eq. (13)."""

    kernels: Tensor

    def __init__(self) -> None:
        super().__init__()
        x = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
        self.register_buffer("kernels", torch.stack([x, x.t()]).repeat(3, 1, 1)[:, None], persistent=False)

    def forward(self, image: Tensor) -> Tensor:
        padded = F.pad(image, (1, 1, 1, 1), mode="replicate")  # avoids a false edge around the page
        return F.conv2d(padded, self.kernels.to(image.dtype), groups=3).abs()


class DilatedResidual(nn.Module):
    """A residual pair of dilated convolutions, which widens the context at full resolution.

    On every n-th pixel in both directions a convolution with dilation n is a plain one, whose gradients are faster on
    a CPU. So training works on the n x n interleaved grids as if they were separate pictures.
    """

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.first = conv_norm_act(width, width, dilation=dilation)
        self.second = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=dilation, dilation=dilation, bias=False), NormAct(width)
        )

    def forward(self, x: Tensor) -> Tensor:
        n = self.dilation
        if not self.training or n == 1 or x.shape[2] % n or x.shape[3] % n:
            return F.relu(x + self.second(self.first(x)))
        grids = y = interleaved_grids(x, n)
        for convolution, norm in (self.first, self.second):
            y = norm(F.conv2d(y, cast(Tensor, convolution.weight), padding=1))
        return joined_grids(F.relu(grids + y), n)


def interleaved_grids(x: Tensor, n: int) -> Tensor:
    """Every n-th pixel in both directions as a picture of its own: (B, C, H, W) -> (B*n*n, C, H/n, W/n)."""
    batch, channels, height, width = x.shape
    pixels = x.permute(0, 2, 3, 1).reshape(batch, height // n, n, width // n, n, channels)
    grids = pixels.permute(0, 2, 4, 1, 3, 5).reshape(batch * n * n, height // n, width // n, channels)
    return grids.permute(0, 3, 1, 2)


def joined_grids(grids: Tensor, n: int) -> Tensor:
    """The inverse of `interleaved_grids`."""
    count, channels, height, width = grids.shape
    pixels = grids.permute(0, 2, 3, 1).reshape(count // n**2, n, n, height, width, channels)
    x = pixels.permute(0, 3, 1, 4, 2, 5).reshape(count // n**2, height * n, width * n, channels)
    return x.permute(0, 3, 1, 2)


class Reconstruction(nn.Module):
    """Combines O_DR at stride 4 and the image itself into one logit per pixel.

    With fold = n the full-resolution part works on n x n pixels stacked as channels.
    """

    def __init__(self, width_in: int, config: DetailConfig) -> None:
        super().__init__()
        self.fold = config.fold
        zoom = STRIDES[0] // config.fold
        # This is a learned sub-pixel up-sampling.
        self.up = nn.Sequential(
            nn.Conv2d(width_in, config.width * zoom**2, 3, padding=1), nn.PixelShuffle(zoom)
        )
        self.sobel = Sobel() if config.enabled else None
        if config.enabled:
            self.psi = nn.Sequential(
                conv_norm_act(9 * config.fold**2, config.width), conv_norm_act(config.width, config.width)
            )
        self.fuse = conv_norm_act(config.width * (2 if config.enabled else 1), config.head_width)
        self.head = nn.Sequential(
            *(DilatedResidual(config.head_width, dilation) for dilation in config.dilations)
        )
        self.predict = nn.Conv2d(config.head_width, config.fold**2, 1)

    def forward(self, o: Tensor, image: Tensor) -> Tensor:
        x = self.up(o)
        if self.sobel is not None:
            edges = torch.cat([image, self.sobel(image)], 1)
            detail = self.psi(F.pixel_unshuffle(edges, self.fold))  # Eq. (14)
            x = torch.cat([x, detail], 1)
        logits: Tensor = self.predict(self.head(self.fuse(x)))  # Eqs. (15), (16)
        return F.pixel_shuffle(logits, self.fold)[:, 0]


class PlainReconstruction(nn.Module):
    """One logit for each position of O_DR, up-sampled bilinearly: what remains without the detail-guided module."""

    def __init__(self, width_in: int) -> None:
        super().__init__()
        self.predict = nn.Conv2d(width_in, 1, 1)

    def forward(self, o: Tensor, image: Tensor) -> Tensor:  # noqa: ARG002
        return F.interpolate(self.predict(o), scale_factor=float(STRIDES[0]), mode="bilinear")[:, 0]


def build_reconstruction(width_in: int, config: DetailConfig) -> Reconstruction | PlainReconstruction:
    """The module that the config asks for."""
    return PlainReconstruction(width_in) if config.plain else Reconstruction(width_in, config)
