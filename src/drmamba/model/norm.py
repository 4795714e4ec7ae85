"""Batch normalization fused with the activation that follows it."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from drmamba.ops.batch_norm import batch_norm_clamp, runs_here

Activation = Literal["none", "relu", "relu6"]
# The range to which each activation clamps.
LIMITS: dict[Activation, tuple[float, float]] = {
    "none": (float("-inf"), float("inf")),
    "relu": (0.0, float("inf")),
    "relu6": (0.0, 6.0),
}


class NormAct(nn.BatchNorm2d):
    """A batch norm with an activation; its parameters and statistics are those of `nn.BatchNorm2d`, by name too."""

    def __init__(self, width: int, activation: Activation = "none", *, eps: float = 1e-5) -> None:
        super().__init__(width, eps=eps)
        self.activation: Activation = activation

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not runs_here(x):
            return activate(super().forward(x), self.activation)
        y, mean, variance = batch_norm_clamp(x, self.weight, self.bias, self.eps, *LIMITS[self.activation])
        self._remember(mean, variance, x.numel() / x.shape[1])
        return y

    def _remember(self, mean: Tensor, variance: Tensor, count: float) -> None:
        """Move the running statistics towards those of a batch; `variance` is the biased estimate."""
        if self.running_mean is not None and self.running_var is not None and self.momentum is not None:
            self.running_mean.lerp_(mean.detach(), self.momentum)
            self.running_var.lerp_(variance.detach() * (count / max(count - 1, 1)), self.momentum)
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)


class Activate(nn.Module):
    """The activation of a `NormAct` whose norm was folded into the convolution before it."""

    def __init__(self, activation: Activation) -> None:
        super().__init__()
        self.activation: Activation = activation

    def forward(self, x: Tensor) -> Tensor:
        return activate(x, self.activation)


def activate(x: Tensor, activation: Activation) -> Tensor:
    """Apply the activation, in place except in an export, which takes half as long again with operations in place."""
    inplace = not torch.compiler.is_exporting()
    if activation == "relu":
        return F.relu(x, inplace=inplace)
    if activation == "relu6":
        return F.relu6(x, inplace=inplace)
    return x
