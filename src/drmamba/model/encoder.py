"""Encoders by name, Eq. (1). Each has `widths`, and the `mean` and `std` that normalize its input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor, nn

from drmamba.config import STRIDES
from drmamba.errors import ConfigError, MissingExtra
from drmamba.model.convnext import SIZES, ConvNeXt
from drmamba.model.efficientnet import EfficientNetLite0
from drmamba.model.pplcnet import PPLCNetV4Small
from drmamba.model.vmamba import VMamba


class Encoder(Protocol):
    """Maps an RGB batch (B, 3, H, W) to four feature maps at the strides of `config.STRIDES`."""

    widths: Sequence[int]
    mean: Sequence[float]
    std: Sequence[float]

    def __call__(self, x: Tensor) -> list[Tensor]: ...


def build_encoder(name: str) -> nn.Module:
    """The encoder of that name with random weights; `drmamba.model.pretrained` loads published ones."""
    if name in SIZES:
        return ConvNeXt(name)
    if name == "efficientnet_lite0":
        return EfficientNetLite0()
    if name == "pplcnetv4_small":
        return PPLCNetV4Small()
    if name == "vmamba_tiny":
        return VMamba()
    return TimmEncoder(name.removeprefix("timm/"))


class TimmEncoder(nn.Module):
    """Any timm backbone with feature maps at strides 4, 8, 16 and 32; it needs the extra `timm`."""

    def __init__(self, name: str) -> None:
        super().__init__()
        try:
            import timm
        except ImportError as error:
            raise MissingExtra("timm", "timm") from error
        try:
            self.body = timm.create_model(name, features_only=True, pretrained=False)
        except RuntimeError as error:
            raise ConfigError(f"timm cannot build a feature encoder {name!r}: {error}") from error
        taps = {stride: i for i, stride in enumerate(self.body.feature_info.reduction())}
        if not set(STRIDES) <= set(taps):
            wanted = ", ".join(map(str, STRIDES))
            raise ConfigError(f"timm/{name} has maps at strides {sorted(taps)}; {wanted} are needed")
        self.taps = [taps[stride] for stride in STRIDES]
        channels = self.body.feature_info.channels()
        self.widths = tuple(channels[i] for i in self.taps)
        origin = timm.get_pretrained_cfg(name) or timm.models.PretrainedCfg()
        self.mean, self.std = tuple(origin.mean), tuple(origin.std)

    def forward(self, x: Tensor) -> list[Tensor]:
        features = self.body(x)
        return [features[i] for i in self.taps]
