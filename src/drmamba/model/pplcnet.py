"""PP-LCNetV4-small encoder with the tensor names of PaddleOCR's PP-OCRv6 text detector, whose backbone it is.

Its published weights were trained to detect text, not to classify objects. Every block mixes positions first
(depth-wise) and channels second (1 x 1). The published file has the position kernels of stride 1 in their deployed
form, in which parallel branches, their normalizations and the identity are merged, and so has this encoder.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from drmamba.model.norm import Activation, NormAct

WIDTHS = (48, 96, 192, 384)  # channels of the stages
DEPTHS = (2, 2, 4, 2)  # blocks of stride 1 in each stage; all stages but the first begin with one of stride 2


class DepthwiseConv2d(nn.Conv2d):
    """A depth-wise 3 x 3 convolution."""

    def __init__(self, width: int, stride: int, bias: bool) -> None:
        super().__init__(width, width, 3, stride, padding=1, groups=width, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            # CPUs train depth-wise convolutions faster in float32 than in bfloat16 (docs/performance.md).
            with torch.autocast("cpu", enabled=False):
                return super().forward(x.float())
        return super().forward(x)


class ConvNorm(nn.Module):
    def __init__(self, convolution: nn.Conv2d, activation: Activation = "none") -> None:
        super().__init__()
        self.convolution = convolution
        self.normalization = NormAct(convolution.out_channels, activation)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.normalization(self.convolution(x))
        return y


def conv_norm(
    width_in: int, width: int, kernel: int, stride: int = 1, activation: Activation = "none"
) -> ConvNorm:
    """Convolution and batch norm; for even kernels the stem pads a row below and a column on the right itself."""
    convolution = nn.Conv2d(width_in, width, kernel, stride, padding=(kernel - 1) // 2, bias=False)
    return ConvNorm(convolution, activation)


class Stem(nn.Module):
    """Maps RGB to stride 4; at stride 2 a pooled copy runs beside a branch of two 2 x 2 convolutions."""

    def __init__(self, inner: int, width: int) -> None:
        super().__init__()
        self.stem1 = conv_norm(3, inner, 3, stride=2, activation="relu")
        self.stem2a = conv_norm(inner, inner // 2, 2, activation="relu")
        self.stem2b = conv_norm(inner // 2, inner, 2, activation="relu")
        self.stem3 = conv_norm(2 * inner, inner, 3, stride=2, activation="relu")
        self.stem4 = conv_norm(inner, width, 1, activation="relu")

    def forward(self, x: Tensor) -> Tensor:
        x = F.pad(self.stem1(x), (0, 1, 0, 1))
        branch = self.stem2b(F.pad(self.stem2a(x), (0, 1, 0, 1)))
        pooled = F.max_pool2d(x, 2, stride=1)
        y: Tensor = self.stem4(self.stem3(torch.cat([pooled, branch], dim=1)))
        return y


class SqueezeExcitation(nn.Module):
    """Scales every channel by a gate computed from the means of all channels over the map."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(width, width // 4, 1), nn.ReLU(), nn.Conv2d(width // 4, width, 1), nn.Hardsigmoid()
        )

    def forward(self, x: Tensor) -> Tensor:
        gate: Tensor = self.convolutions(F.adaptive_avg_pool2d(x, 1))
        return x * gate


class PPLCNetBlock(nn.Module):
    """Mixes positions, then channels; the residual path of the first half is merged into its kernel."""

    def __init__(self, width_in: int, width: int, excited: bool) -> None:
        super().__init__()
        self.shrinks = width_in != width
        self.token_conv = (
            ConvNorm(DepthwiseConv2d(width_in, stride=2, bias=False))
            if self.shrinks
            else DepthwiseConv2d(width_in, stride=1, bias=True)
        )
        self.token_squeeze_excitation = SqueezeExcitation(width_in) if excited else nn.Identity()
        self.channel_conv1 = conv_norm(width_in, 2 * width_in, 1)
        self.channel_conv2 = conv_norm(2 * width_in, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.token_squeeze_excitation(self.token_conv(x))
        y: Tensor = self.channel_conv2(F.gelu(self.channel_conv1(x)))
        return y if self.shrinks else x + y


class PPLCNetStage(nn.Module):
    def __init__(self, width_in: int, width: int, depth: int) -> None:
        super().__init__()
        first = [PPLCNetBlock(width_in, width, excited=False)] if width_in != width else []
        # Every second block of stride 1, beginning with the first, has a squeeze-and-excitation.
        self.blocks = nn.Sequential(
            *first, *(PPLCNetBlock(width, width, excited=i % 2 == 0) for i in range(depth))
        )

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.blocks(x)
        return y


class PPLCNetV4Small(nn.Module):
    """Eq. (1) with a text detector's backbone: maps RGB to {F_1, F_2, F_3, F_4} at strides 4, 8, 16, 32."""

    # The detector was trained on BGR with ImageNet's statistics in the order of RGB. Here they are in the order in
    # which its red, green and blue channels got them, and the stem's weights are reversed when they are loaded.
    mean = (0.406, 0.456, 0.485)
    std = (0.225, 0.224, 0.229)
    widths = WIDTHS

    def __init__(self) -> None:
        super().__init__()
        self.convolution = Stem(WIDTHS[0] // 2, WIDTHS[0])
        inputs = (WIDTHS[0], *WIDTHS[:-1])
        self.blocks = nn.ModuleList(
            PPLCNetStage(width_in, width, depth)
            for width_in, width, depth in zip(inputs, WIDTHS, DEPTHS, strict=True)
        )
        self.apply(initialize)

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.convolution(x)
        features = []
        for stage in self.blocks:
            x = stage(x)
            features.append(x)
        return features


def initialize(module: nn.Module) -> None:
    """He normal weights; depth-wise kernels that include the identity start near it."""
    if isinstance(module, DepthwiseConv2d) and module.bias is not None:
        nn.init.dirac_(module.weight, groups=module.groups)
        with torch.no_grad():
            module.weight.add_(torch.randn_like(module.weight), alpha=0.1)
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out")
        if module.bias is not None:
            nn.init.zeros_(module.bias)
