"""The exponential moving average (EMA) of weights and batch-norm statistics, which is evaluated and saved.

`torch.optim.swa_utils.AveragedModel` keeps a second network. Here a dictionary of tensors is enough, which goes into
the checkpoint as it is, and the decay depends on the step.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn


class ExponentialMovingAverage:
    """A moving average of every tensor of a network.

    The decay grows with the number of updates, min(decay, (1 + n) / (10 + n)), so that a short run averages over its
    last tenth and the initial weights are soon forgotten.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.network, self.decay = network, decay
        self.tensors = {name: value.detach().clone() for name, value in network.state_dict().items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move the average towards the network's weights after update number `step`, counted from 1."""
        decay = min(self.decay, (1 + step) / (10 + step))
        # The tensors are read anew, because moving a network to a device replaces its storage.
        own = self.network.state_dict()
        moving = [name for name, value in own.items() if value.is_floating_point()]
        torch._foreach_lerp_(
            [self.tensors[name] for name in moving], [own[name] for name in moving], 1 - decay
        )
        for name in own.keys() - set(moving):
            self.tensors[name].copy_(own[name])

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Load a saved average."""
        for name, value in self.tensors.items():
            value.copy_(tensors[name])

    def to(self, device: torch.device) -> None:
        """Move the average to a device."""
        self.tensors = {name: value.to(device) for name, value in self.tensors.items()}
