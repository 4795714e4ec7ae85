"""ConvNeXt encoder (Liu et al., 2022) with timm's parameter names, so that its ImageNet files load unchanged.

It is written here, as the other encoders are, so that the package needs neither timm nor torchvision.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Depths and widths of the stages, as in timm.
SIZES = {
    "convnext_atto": ((2, 2, 6, 2), (40, 80, 160, 320)),
    "convnext_femto": ((2, 2, 6, 2), (48, 96, 192, 384)),
    "convnext_pico": ((2, 2, 6, 2), (64, 128, 256, 512)),
    "convnext_nano": ((2, 2, 8, 2), (80, 160, 320, 640)),
    "convnext_tiny": ((3, 3, 9, 3), (96, 192, 384, 768)),
}


class ChannelNorm(nn.LayerNorm):
    """Layer normalization over the channels of a (B, C, H, W) map."""

    def __init__(self, width: int) -> None:
        super().__init__(width, eps=1e-6)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Mlp(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.fc2(F.gelu(self.fc1(x)))
        return y


class ConvNeXtBlock(nn.Module):
    """Depth-wise 7 x 7, normalization, inverted bottleneck, layer scale, residual."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv_dw = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.mlp = Mlp(width)
        self.gamma = nn.Parameter(torch.full((width,), 1e-6))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv_dw(x).permute(0, 2, 3, 1)  # a view where memory is channels-last
        y = self.mlp(self.norm(y)) * self.gamma
        return x + y.permute(0, 3, 1, 2)


class ConvNeXtStage(nn.Module):
    def __init__(self, width_in: int, width: int, depth: int, shrink: bool) -> None:
        super().__init__()
        self.downsample = (
            nn.Sequential(ChannelNorm(width_in), nn.Conv2d(width_in, width, 2, stride=2))
            if shrink
            else nn.Identity()
        )
        self.blocks = nn.Sequential(*(ConvNeXtBlock(width) for _ in range(depth)))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.blocks(self.downsample(x))
        return y


class ConvNeXt(nn.Module):
    """Eq. (1): an RGB map to {F_1, F_2, F_3, F_4} at strides 4, 8, 16, 32."""

    mean = (0.485, 0.456, 0.406)
    std = (0.229, 0.224, 0.225)

    def __init__(self, name: str) -> None:
        super().__init__()
        depths, self.widths = SIZES[name]
        self.stem = nn.Sequential(nn.Conv2d(3, self.widths[0], 4, stride=4), ChannelNorm(self.widths[0]))
        inputs = (self.widths[0], *self.widths[:-1])
        self.stages = nn.ModuleList(
            ConvNeXtStage(width_in, width, depth, shrink=i > 0)
            for i, (width_in, width, depth) in enumerate(zip(inputs, self.widths, depths, strict=True))
        )
        self.apply(initialize)

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.stem(x)
        features = []
        for stage in self.stages:
            x = stage(x)
            features.append(x)
        return features


def initialize(module: nn.Module) -> None:
    """Truncated normal weights and zero biases, the initialization of ConvNeXt and VMamba."""
    if isinstance(module, nn.Conv2d | nn.Linear):
        nn.init.trunc_normal_(module.weight, std=0.02)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
