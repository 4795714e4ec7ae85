"""Encoders by name, Eq. (1); each has `widths`, and the `mean` and `std` its input is normalized with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor, nn

from drmamba.errors import ConfigError, MissingExtra
from drmamba.model.convnext import SIZES, ConvNeXt
from drmamba.model.efficientnet import EfficientNetLite0
from drmamba.model.pplcnet import PPLCNetV4Small
from drmamba.model.vmamba import VMamba


class Encoder(Protocol):
    """An RGB map (B, 3, H, W) to four feature maps at strides 4, 8, 16 and 32."""

    widths: Sequence[int]
    mean: Sequence[float]
    std: Sequence[float]

    def __call__(self, x: Tensor) -> list[Tensor]: ...


def build_encoder(name: str) -> nn.Module:
    """The encoder of that name with fresh weights (`drmamba.model.pretrained` loads published ones)."""
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
    """Any backbone of timm that gives maps at strides 4 to 32 (extra `timm`)."""

    def __init__(self, name: str) -> None:
        super().__init__()
        try:
            import timm
        except ImportError as error:
            raise MissingExtra("timm", "timm") from error
        try:
            self.body = timm.create_model(name, features_only=True, pretrained=False)
        except RuntimeError as error:
            raise ConfigError(f"timm builds no feature encoder {name!r}: {error}") from error
        taps = {stride: i for i, stride in enumerate(self.body.feature_info.reduction())}
        if not {4, 8, 16, 32} <= set(taps):
            raise ConfigError(f"timm/{name} has maps at strides {sorted(taps)}; 4, 8, 16 and 32 are needed")
        self.taps = [taps[stride] for stride in (4, 8, 16, 32)]
        channels = self.body.feature_info.channels()
        self.widths = tuple(channels[i] for i in self.taps)
        origin = timm.get_pretrained_cfg(name) or timm.models.PretrainedCfg()
        self.mean, self.std = tuple(origin.mean), tuple(origin.std)

    def forward(self, x: Tensor) -> list[Tensor]:
        features = self.body(x)
        return [features[i] for i in self.taps]
