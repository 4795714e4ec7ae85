"""Scan orders, each a serialization of the whole map into one sequence of tokens.

An order is a permutation p of the H*W row-major token indices: step i of the scan visits token p[i].
"""

from __future__ import annotations

from functools import lru_cache
from typing import get_args

import torch
from torch import Tensor

from drmamba.config import Directions
from drmamba.errors import InputError


@lru_cache(maxsize=64)
@torch.inference_mode(False)  # orders cached during inference may be used in training
def scan_orders(directions: int, height: int, width: int) -> Tensor:
    """The orders of Eq. (12): (R, H*W) int64 on the CPU; callers must not write to it.

    1: left to right, rows after rows. 4 (the paper's): both row-wise and both column-wise traversals.
    8: additionally both families of diagonals, each way.
    """
    if directions not in get_args(Directions):
        raise InputError(f"directions must be 1, 4 or 8, got {directions}")
    grid = torch.arange(height * width).view(height, width)
    rows = grid.flatten()
    if directions == 1:
        return rows[None]
    forward = [rows, grid.t().flatten()]
    if directions == 8:
        y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        # Stable sorting by the number of the diagonal keeps the tokens of one diagonal in row order.
        forward += [torch.argsort(line.flatten(), stable=True) for line in (x - y, x + y)]
    return torch.stack([order for one in forward for order in (one, one.flip(0))])
