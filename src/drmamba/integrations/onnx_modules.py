"""Modules of the network that the export replaces by others with the same values."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from drmamba.config import STRIDES
from drmamba.model.detail import Reconstruction, Sobel
from drmamba.model.efficientnet import SameConv2d
from drmamba.model.network import DRMamba
from drmamba.model.pplcnet import WIDTHS, SqueezeExcitation, Stem

LEVELS = 255.0  # the level of white
CHANNEL_BLOCK = 16  # channels; ONNX Runtime leaves its blocked layout for a convolution of fewer


class SameConv(nn.Module):
    """TensorFlow's SAME padding at stride 2, as an attribute of ONNX's convolution; the odd pixel comes last."""

    def __init__(self, convolution: SameConv2d) -> None:
        super().__init__()
        self.weight, self.bias = convolution.weight, convolution.bias
        kernel, before = convolution.kernel_size[0], (convolution.kernel_size[0] - 2) // 2
        after = kernel - 2 - before
        self.attributes: Any = {
            "group": convolution.groups,
            "kernel_shape": [kernel, kernel],
            "pads": [before, before, after, after],
            "strides": [2, 2],
        }

    def forward(self, x: Tensor) -> Tensor:
        batch, _, height, width = x.shape
        shape = (batch, self.weight.shape[0], height // 2, width // 2)
        return torch.onnx.ops.symbolic(
            "Conv", (x, self.weight, self.bias), self.attributes, dtype=x.dtype, shape=shape
        )


class SplitConvolution(nn.Module):
    """A convolution of two maps, concatenated, as the sum of two convolutions; `width` is that of the first map."""

    def __init__(self, convolution: nn.Conv2d, width: int) -> None:
        super().__init__()
        first, second = convolution.weight.detach().split((width, convolution.in_channels - width), 1)
        self.first, self.second = deepcopy(convolution), deepcopy(convolution)
        self.first.weight = nn.Parameter(first.clone(), requires_grad=False)
        self.second.weight = nn.Parameter(second.clone(), requires_grad=False)
        self.first.bias = None

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        joined: Tensor = self.first(x) + self.second(y)
        return joined


class ExportedStem(nn.Module):
    """The stem of PP-LCNetV4: pooling pads by itself, and the maps that it concatenates are convolved apart."""

    def __init__(self, stem: Stem) -> None:
        super().__init__()
        self.stem, join = stem, stem.stem3.convolution
        self.join = SplitConvolution(join, join.in_channels // 2)
        widen(stem.stem2a.convolution, stem.stem2b.convolution)
        widen(stem.stem1.convolution, stem.stem2a.convolution, self.join.first)
        widen(stem.stem2b.convolution, self.join.second)

    def forward(self, x: Tensor) -> Tensor:
        stem = self.stem
        x = stem.stem1(x)
        padded = F.pad(x, (0, 1, 0, 1))
        branch = stem.stem2b(F.pad(stem.stem2a(padded), (0, 1, 0, 1)))
        # Nothing is below 0 after a ReLU, so that padding by nothing gives the same as padding by 0.
        attributes: Any = {"kernel_shape": [2, 2], "pads": [0, 0, 1, 1], "strides": [1, 1]}
        pooled = torch.onnx.ops.symbolic("MaxPool", (x,), attributes, dtype=x.dtype, shape=x.shape)
        y: Tensor = stem.stem4(stem.stem3.normalization(self.join(pooled, branch)))
        return y


class ExportedExcitation(nn.Module):
    """Squeeze-and-excitation with ONNX's own pooling, which ONNX Runtime knows in its blocked layout.

    ONNX Runtime adds up a whole map one position after the other, which rounds the mean of a large map to five digits.
    The mean of the means of cells, of one size because windows are padded to multiples of the largest stride, is exact
    to seven.
    """

    def __init__(self, module: SqueezeExcitation) -> None:
        super().__init__()
        self.convolutions = module.convolutions
        squeeze = module.convolutions[0]
        assert isinstance(squeeze, nn.Conv2d)
        self.cell = STRIDES[-1] // STRIDES[WIDTHS.index(squeeze.in_channels)]

    def forward(self, x: Tensor) -> Tensor:
        batch, channels, height, width = x.shape
        attributes: Any = {"kernel_shape": [self.cell, self.cell], "strides": [self.cell, self.cell]}
        cells = torch.onnx.ops.symbolic(
            "AveragePool",
            (x,),
            attributes,
            dtype=x.dtype,
            shape=(batch, channels, height // self.cell, width // self.cell),
        )
        mean = torch.onnx.ops.symbolic(
            "GlobalAveragePool", (cells,), dtype=x.dtype, shape=(batch, channels, 1, 1)
        )
        gate: Tensor = self.convolutions(mean)
        return x * gate


class ExportedReconstruction(nn.Module):
    """Eqs. (13)-(16); the edges of n x n pixels are one convolution, and no maps are concatenated."""

    kernels: Tensor

    def __init__(self, module: Reconstruction) -> None:
        super().__init__()
        self.module, self.fold = module, module.fold
        up, shuffle = module.up[0], module.up[1]
        assert isinstance(up, nn.Conv2d)
        assert isinstance(shuffle, nn.PixelShuffle)
        self.zoom = shuffle.upscale_factor
        # The channels of each of the zoom x zoom places come together.
        order = torch.arange(up.out_channels).view(-1, self.zoom**2).t().flatten()
        up.weight, up.bias = (
            nn.Parameter(one.detach()[order], requires_grad=False) for one in (up.weight, _bias(up))
        )
        self.up = up
        if module.sobel is not None:
            fuse = module.fuse[0]
            assert isinstance(fuse, nn.Conv2d)
            self.join = SplitConvolution(fuse, up.out_channels // self.zoom**2)
            self.register_buffer("kernels", edge_kernels(module.sobel, self.fold), persistent=False)

    def forward(self, o: Tensor, levels: Tensor) -> Tensor:
        module = self.module
        x = shuffled(self.up(o), self.zoom)
        if module.sobel is None:
            x = module.fuse(x)
        else:
            padded = F.pad(levels, (1, 1, 1, 1), mode="replicate")  # avoids a false edge around the page
            # Levels are never negative, so that a slope of -1 takes the absolute value of the edges alone.
            edges = F.leaky_relu(F.conv2d(padded, self.kernels, stride=self.fold), -1.0)
            x = module.fuse[1](self.join(x, module.psi(edges)))
        logits: Tensor = module.predict(module.head(x))
        return F.pixel_shuffle(logits, self.fold)[:, 0]


def edge_kernels(sobel: Sobel, fold: int) -> Tensor:
    """Return the kernels (9 n^2, 3, n + 2, n + 2) that find the colours and edges of n x n pixels, in stacked order.

    They apply with stride n to levels that are padded by a pixel on each side; `Sobel` applies to colours.
    """
    kernels = torch.zeros(9, fold, fold, 3, fold + 2, fold + 2)
    for row in range(fold):
        for column in range(fold):
            here = kernels[:, row, column]  # (9, 3, n + 2, n + 2)
            for colour in range(3):
                here[colour, colour, row + 1, column + 1] = 1
                for way in range(2):
                    at = 2 * colour + way
                    here[3 + at, colour, row : row + 3, column : column + 3] = sobel.kernels[at, 0]
    return kernels.flatten(0, 2) / LEVELS


def shuffled(x: Tensor, zoom: int) -> Tensor:
    """Return (B, zoom^2 C, h, w), place by place, as (B, C, zoom h, zoom w); whole positions are copied."""
    batch, channels, height, width = x.shape
    places = x.permute(0, 2, 3, 1).reshape(batch, height, width, zoom, zoom, channels // zoom**2)
    whole = places.permute(0, 1, 3, 2, 4, 5).reshape(batch, height * zoom, width * zoom, channels // zoom**2)
    return whole.permute(0, 3, 1, 2)


@torch.no_grad()
def widen(before: nn.Conv2d, *after: nn.Conv2d) -> None:
    """Add channels without effect between a convolution and those that read it until they fill a block."""
    missing = -before.out_channels % CHANNEL_BLOCK
    before.weight = nn.Parameter(F.pad(before.weight, (0, 0, 0, 0, 0, 0, 0, missing)), requires_grad=False)
    before.bias = nn.Parameter(F.pad(_bias(before), (0, missing)), requires_grad=False)
    for one in after:
        one.weight = nn.Parameter(F.pad(one.weight, (0, 0, 0, 0, 0, missing)), requires_grad=False)


def _bias(convolution: nn.Conv2d) -> Tensor:
    assert convolution.bias is not None
    return convolution.bias


EXPORTED: dict[type[nn.Module], Callable[[Any], nn.Module]] = {
    Stem: ExportedStem,
    SqueezeExcitation: ExportedExcitation,
    Reconstruction: ExportedReconstruction,
}


def replaced(network: DRMamba) -> DRMamba:
    """Return the network, whose batch norms are folded, with the modules of this file in it."""
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, SameConv2d) and child.stride[0] == 2:
                setattr(module, name, SameConv(child))
            elif type(child) in EXPORTED:
                setattr(module, name, EXPORTED[type(child)](child))
    return network
