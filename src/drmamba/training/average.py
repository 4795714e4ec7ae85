"""The exponential moving average of weights and batch-norm statistics: what is evaluated and kept."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn


class Average:
    """A running average of every tensor of a network.

    The decay grows with the number of updates, min(decay, (1 + n) / (10 + n)): a short run averages over its
    last tenth, and the first weights do not linger.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.network, self.decay = network, decay
        self.tensors = {name: value.detach().clone() for name, value in network.state_dict().items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move towards the network's weights after update number `step` (from 1)."""
        decay = min(self.decay, (1 + step) / (10 + step))
        own = self.network.state_dict()  # asked for anew: moving a network to a device replaces its storage
        moving = [name for name, value in own.items() if value.is_floating_point()]
        torch._foreach_lerp_(
            [self.tensors[name] for name in moving], [own[name] for name in moving], 1 - decay
        )
        for name in own.keys() - set(moving):
            self.tensors[name].copy_(own[name])

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over a saved average."""
        for name, value in self.tensors.items():
            value.copy_(tensors[name])

    def to(self, device: torch.device) -> None:
        """Move to where the network is."""
        self.tensors = {name: value.to(device) for name, value in self.tensors.items()}
