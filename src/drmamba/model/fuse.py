"""The network for inference, with batch normalizations folded into the convolutions before them."""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise

import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from drmamba.model.network import DRMamba
from drmamba.model.norm import Activate, NormAct


def fused(network: DRMamba) -> DRMamba:
    """A copy in eval mode and channels-last memory, without batch normalizations, that computes the same function."""
    network = deepcopy(network).eval()
    for module in list(network.modules()):
        children = list(module.named_children())
        for (name, conv), (norm_name, norm) in pairwise(children):
            if isinstance(conv, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                setattr(module, name, fuse_conv_bn_eval(conv, norm))
                setattr(
                    module,
                    norm_name,
                    Activate(norm.activation) if isinstance(norm, NormAct) else nn.Identity(),
                )
    for parameter in network.parameters():
        parameter.requires_grad_(False)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs lack it
    return network
