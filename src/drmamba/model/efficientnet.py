"""EfficientNet-Lite0 encoder with timm's parameter names (`tf_efficientnet_lite0`).

It has no squeeze-and-excitation and uses ReLU6 throughout: it is the member of its family made for CPUs.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from drmamba.model.norm import Activation, NormAct
from drmamba.ops.depthwise import depthwise_conv2d

# Kernel, stride, expansion, width and number of blocks of the seven stages.
STAGES = (
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)
TAPS = (1, 2, 4, 6)  # indices of the stages whose outputs are F_1 to F_4


class SameConv2d(nn.Conv2d):
    """A convolution with TensorFlow's SAME padding, which at stride 2 adds the odd pixel on the right and below."""

    def forward(self, x: Tensor) -> Tensor:
        if self.groups > 1 and x.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            # CPUs train depth-wise convolutions faster in float32 than in bfloat16 (docs/performance.md).
            with torch.autocast("cpu", enabled=False):
                return self._same(x.float())
        return self._same(x)

    def _same(self, x: Tensor) -> Tensor:
        k, stride = self.kernel_size[0], self.stride[0]
        if stride == 1:
            return self._convolved(x, k // 2)
        if x.shape[-1] % 2 == 0 and x.shape[-2] % 2 == 0:
            # Padding by one more row and column and cropping the small output is cheaper than padding the large input.
            # In training the crop is copied, because the next operations are slow on memory with gaps.
            cut = self._convolved(x, (k + 1) // 2)[..., 1:, 1:]
            return cut.contiguous(memory_format=torch.channels_last) if self.training else cut
        # The width comes first, as F.pad expects it.
        padding = [same_padding(size, k, stride) for size in (x.shape[-1], x.shape[-2])]
        x = F.pad(x, [side for total in padding for side in (total // 2, total - total // 2)])
        return F.conv2d(x, self.weight, self.bias, stride, 0, 1, self.groups)

    def _convolved(self, x: Tensor, padding: int) -> Tensor:
        if self.groups > 1 and (self.kernel_size[0] > 3 or self.stride[0] > 1):
            return depthwise_conv2d(x, self.weight, self.bias, self.stride[0], padding)
        return F.conv2d(x, self.weight, self.bias, self.stride, padding, 1, self.groups)


def same_padding(size: int, kernel: int, stride: int) -> int:
    return max((-(-size // stride) - 1) * stride + kernel - size, 0)


def norm(width: int, activation: Activation = "none") -> NormAct:
    return NormAct(width, activation, eps=1e-3)


class DepthwiseSeparable(nn.Module):
    def __init__(self, width_in: int, width: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.conv_dw = SameConv2d(width_in, width_in, kernel, stride, groups=width_in, bias=False)
        self.bn1 = norm(width_in, "relu6")
        self.conv_pw = nn.Conv2d(width_in, width, 1, bias=False)
        self.bn2 = norm(width)
        self.residual = stride == 1 and width_in == width

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn1(self.conv_dw(x))
        z: Tensor = self.bn2(self.conv_pw(y))
        return x + z if self.residual else z


class InvertedResidual(nn.Module):
    def __init__(self, width_in: int, width: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = width_in * expansion
        self.conv_pw = nn.Conv2d(width_in, inner, 1, bias=False)
        self.bn1 = norm(inner, "relu6")
        self.conv_dw = SameConv2d(inner, inner, kernel, stride, groups=inner, bias=False)
        self.bn2 = norm(inner, "relu6")
        self.conv_pwl = nn.Conv2d(inner, width, 1, bias=False)
        self.bn3 = norm(width)
        self.residual = stride == 1 and width_in == width

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn1(self.conv_pw(x))
        y = self.bn2(self.conv_dw(y))
        z: Tensor = self.bn3(self.conv_pwl(y))
        return x + z if self.residual else z


class EfficientNetLite0(nn.Module):
    """Eq. (1) with a lighter backbone: an RGB map to {F_1, F_2, F_3, F_4} at strides 4, 8, 16, 32."""

    mean = (0.5, 0.5, 0.5)
    std = (0.5, 0.5, 0.5)
    widths = tuple(STAGES[tap][3] for tap in TAPS)

    def __init__(self) -> None:
        super().__init__()
        self.conv_stem = SameConv2d(3, 32, 3, 2, bias=False)
        self.bn1 = norm(32, "relu6")
        stages, width_in = [], 32
        for kernel, stride, expansion, width, count in STAGES:
            blocks: list[nn.Module] = []
            for i in range(count):
                step = stride if i == 0 else 1
                blocks.append(
                    DepthwiseSeparable(width_in, width, kernel, step)
                    if expansion == 1
                    else InvertedResidual(width_in, width, kernel, step, expansion)
                )
                width_in = width
            stages.append(nn.Sequential(*blocks))
        self.blocks = nn.Sequential(*stages)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.bn1(self.conv_stem(x))
        features = []
        for i, stage in enumerate(self.blocks):
            x = stage(x)
            if i in TAPS:
                features.append(x)
        return features
