"""The U-shaped decoder, Eqs. (2)-(4), which joins deep and shallow features at each resolution."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from drmamba.model.norm import NormAct


def conv_norm_act(
    width_in: int, width: int, kernel: int = 3, *, stride: int = 1, dilation: int = 1
) -> nn.Sequential:
    """Convolution, batch normalization and ReLU; for inference the normalization is folded into the convolution."""
    padding = dilation * (kernel // 2)
    return nn.Sequential(
        nn.Conv2d(width_in, width, kernel, stride, padding, dilation, bias=False),
        NormAct(width, "relu"),
    )


def enlarged(u: Tensor) -> Tensor:
    """Up: every position twice along both axes."""
    return F.interpolate(u, scale_factor=2.0, mode="nearest")


class ProjectingStage(nn.Module):
    """D_i as a 3 x 3 convolution of the sum of both inputs, each projected to the stage's width and normalized.

    Without the normalizations the sum was the shallow features alone: the projection of F_2 varied 7 to 49 times as
    much over a window as that of U_4 (docs/experiments.md). The deep features are projected before they are enlarged,
    which gives the same and costs a quarter.
    """

    def __init__(self, deep: int, skip: int, width: int) -> None:
        super().__init__()
        self.deep = projection(deep, width)
        self.skip = projection(skip, width)
        self.mix = conv_norm_act(width, width)

    def forward(self, u: Tensor, skip: Tensor) -> Tensor:
        mixed: Tensor = self.mix(enlarged(self.deep(u)) + self.skip(skip))
        return mixed


def projection(width_in: int, width: int) -> nn.Sequential:
    """A 1 x 1 convolution and batch normalization."""
    return nn.Sequential(nn.Conv2d(width_in, width, 1, bias=False), NormAct(width))


class Decoder(nn.Module):
    """U_4 = D_4(Up(F_4), F_3), U_3 = D_3(Up(U_4), F_2), U_2 = D_2(Up(U_3), F_1), Eqs. (2)-(4)."""

    def __init__(
        self, encoder_widths: Sequence[int], widths: Sequence[int], *, projected: bool = False
    ) -> None:
        super().__init__()
        self.projected = projected
        skips = list(encoder_widths[-2::-1])  # F_3, F_2, F_1
        inputs = [encoder_widths[-1], *widths[:-1]]
        self.fuse = nn.ModuleList(
            ProjectingStage(deep, skip, width) if projected else conv_norm_act(deep + skip, width)
            for deep, skip, width in zip(inputs, skips, widths, strict=True)
        )

    def forward(self, features: list[Tensor], offsets: Sequence[Tensor] = ()) -> tuple[Tensor, ...]:
        """F_1 to F_4 to U_4, U_3 and U_2; `offsets`, one per stage, are added to them."""
        u, stages = features[-1], []
        for number, (fuse, skip) in enumerate(zip(self.fuse, features[-2::-1], strict=True)):
            u = fuse(u, skip) if self.projected else fuse(torch.cat([enlarged(u), skip], 1))
            if offsets:
                u = u + offsets[number]
            stages.append(u)
        return tuple(stages)
