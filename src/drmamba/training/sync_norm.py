"""Batch normalization over the batches of all processes, on any device.

torch's own SyncBatchNorm runs on CUDA only. This one sums over the processes, so that several CPU processes compute
what one process with the sum of their batches would.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, distributed, nn

from drmamba.model.norm import NormAct, activate


class SharedNormAct(NormAct):
    """A batch norm whose training statistics are taken over the batches of all processes."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        wide = x.float()
        count = wide.numel() / wide.shape[1]
        sums = torch.cat([wide.sum((0, 2, 3)), (wide * wide).sum((0, 2, 3)), wide.new_tensor([count])])
        sums = _SumOfAll.apply(sums)  # type: ignore[no-untyped-call]
        total = sums[-1].detach()
        mean, square = sums[:-1].view(2, -1) / total
        variance = (square - mean * mean).clamp_min(0)
        self._remember(mean, variance, float(total))
        scale = self.weight * (variance + self.eps).rsqrt()
        shift = self.bias - mean * scale
        return activate((wide * scale[:, None, None] + shift[:, None, None]).to(x.dtype), self.activation)


class _SumOfAll(torch.autograd.Function):
    """The sum over all processes, whose gradient is the sum of all processes' gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:  # noqa: ARG004
        total = x.clone()
        distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:  # noqa: ARG004
        total = gradients[0].clone()
        distributed.all_reduce(total)
        return total


def share_norms(network: nn.Module) -> None:
    """Turn every batch norm of the network into a shared one, in place; names, weights and statistics stay."""
    for module in network.modules():
        if type(module) is NormAct:
            module.__class__ = SharedNormAct
