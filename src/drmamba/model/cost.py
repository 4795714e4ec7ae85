"""The cost of a network: its parameters, and its arithmetic for one window."""

from __future__ import annotations

import torch
from torch.utils.flop_counter import FlopCounterMode

from drmamba.config import STRIDES, ModelConfig
from drmamba.model.network import DRMamba
from drmamba.ops import scan_flops


def parameters(config: ModelConfig) -> int:
    """The number of learnable parameters."""
    with torch.device("meta"):
        return sum(p.numel() for p in DRMamba(config).parameters())


def gflops(config: ModelConfig, size: int = 512) -> float:
    """The cost of one size x size window in 10^9 operations, where a multiply-add counts as two.

    torch counts convolutions and matrix products from shapes alone; the scan is counted by its own formula.
    """
    with torch.device("meta"):
        network = DRMamba(config, backend="chunked").eval()
        page = torch.empty(1, 3, size, size)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        network(page)
    block = config.block
    tokens = (-(-size // STRIDES[-1]) * STRIDES[-1] // STRIDES[0]) ** 2
    scans = scan_flops(tokens, block.width, block.directions, routes=2 if block.routes == "dual" else 1)
    total: float = (counter.get_total_flops() + scans) / 1e9
    return total
