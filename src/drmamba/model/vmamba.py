"""VMamba-Tiny encoder (Liu et al., 2024) on this package's own scan, for the paper's backbone study.

The state-space block has one state per channel, as in VMamba's own speed-tuned variants, so that its recurrence is the
diagonal linear scan of `drmamba.ops`, with one set of parameters per direction.
"""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from drmamba.model.convnext import ChannelNorm, Mlp, initialize
from drmamba.ops import linear_scan, scan_orders

DEPTHS = (2, 2, 8, 2)  # blocks of the stages
WIDTHS = (96, 192, 384, 768)  # channels of the stages
DIRECTIONS = 4  # scan orders


class SelectiveScan2d(nn.Module):
    """SS2D: project, depth-wise convolution, four selective scans with summed outputs, project back."""

    def __init__(self, width: int) -> None:
        super().__init__()
        rank = -(-width // 16)
        self.rank = rank
        self.project = nn.Linear(width, width, bias=False)
        self.local = nn.Conv2d(width, width, 3, padding=1, groups=width)
        # For each direction: delta at low rank, and the scalars B_t and C_t of a one-dimensional state.
        self.select = nn.Parameter(torch.empty(DIRECTIONS, rank + 2, width))
        self.delta = nn.Parameter(torch.empty(DIRECTIONS, width, rank))
        self.delta_bias = nn.Parameter(torch.empty(DIRECTIONS, width))
        self.log_A = nn.Parameter(torch.zeros(DIRECTIONS, width))
        self.skip = nn.Parameter(torch.ones(DIRECTIONS, width))
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, width, bias=False)
        nn.init.trunc_normal_(self.select, std=width**-0.5)
        nn.init.uniform_(self.delta, -(rank**-0.5), rank**-0.5)
        # softplus(bias) is log-uniform in [0.001, 0.1], as Mamba is initialized.
        start = torch.exp(torch.empty_like(self.delta_bias).uniform_(-6.9, -2.3))
        self.delta_bias.data = start + torch.log(-torch.expm1(-start))

    def forward(self, x: Tensor) -> Tensor:  # (B, H, W, d)
        batch, height, width, d = x.shape
        z = F.silu(self.local(self.project(x).permute(0, 3, 1, 2))).flatten(2).transpose(1, 2)  # (B, T, d)
        y = torch.zeros_like(z, dtype=torch.float32)
        for r, order in enumerate(scan_orders(DIRECTIONS, height, width)):
            low, B, C = (z @ self.select[r].t()).split([self.rank, 1, 1], -1)  # (B, T, rank), (B, T, 1) twice
            delta = F.softplus(low @ self.delta[r].t() + self.delta_bias[r])
            h = linear_scan(torch.exp(-delta * torch.exp(self.log_A[r])), delta * B * z, order)
            y = y + C * h + self.skip[r] * z
        y = self.norm(y.to(z.dtype)).view(batch, height, width, d)
        out: Tensor = self.out(y)
        return out


class VMambaBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.scan = nn.LayerNorm(width), SelectiveScan2d(width)
        self.norm2, self.mlp = nn.LayerNorm(width), Mlp(width)

    def forward(self, x: Tensor) -> Tensor:  # (B, H, W, d)
        x = x + self.scan(self.norm1(x))
        y: Tensor = x + self.mlp(self.norm2(x))
        return y


class VMamba(nn.Module):
    """Eq. (1) with a state-space backbone: {F_1, F_2, F_3, F_4} at strides 4, 8, 16, 32."""

    mean = (0.485, 0.456, 0.406)
    std = (0.229, 0.224, 0.225)
    widths = WIDTHS

    def __init__(self) -> None:
        super().__init__()
        half = WIDTHS[0] // 2
        self.stem = nn.Sequential(
            nn.Conv2d(3, half, 3, 2, 1), ChannelNorm(half), nn.GELU(), nn.Conv2d(half, WIDTHS[0], 3, 2, 1),
            ChannelNorm(WIDTHS[0]),
        )  # fmt: skip
        self.shrink = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), ChannelNorm(b)) for a, b in pairwise(WIDTHS)
        )
        self.stages = nn.ModuleList(
            nn.Sequential(*(VMambaBlock(width) for _ in range(depth)))
            for width, depth in zip(WIDTHS, DEPTHS, strict=True)
        )
        self.apply(initialize)

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.stem(x)
        features = []
        for i, stage in enumerate(self.stages):
            if i:
                x = self.shrink[i - 1](x)
            x = stage(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
            features.append(x)
        return features
