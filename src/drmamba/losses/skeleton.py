"""The soft skeleton of clDice: plain torch anywhere, and a compiled form for float32 on the CPU.

Both erode the ink step by step and collect what an opening takes away, r_k: 1 - skeleton is the product
of the (1 - r_k). After k erosions, strokes up to 2k pixels wide have left their centre line in it.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

Pages = NDArray[np.float32]  # (B, H, W)


def soft_skeleton(p: Tensor, steps: int) -> Tensor:
    """Grey-level centre lines of p, (B, H, W) in [0, 1], through which gradients flow."""
    compiled = p.device.type == "cpu" and p.dtype == torch.float32 and not torch.compiler.is_compiling()
    if not compiled:
        return soft_skeleton_reference(p, steps)
    skeleton: Tensor = _Compiled.apply(p, steps)  # type: ignore[no-untyped-call]
    return skeleton


def soft_skeleton_reference(p: Tensor, steps: int) -> Tensor:
    """The same in a few torch operations: the truth for the compiled form."""
    rest = torch.ones_like(p)
    for _ in range(steps):
        eroded = _erode(p)
        rest = rest * (1 - F.relu(p - _dilate(eroded)))
        p = eroded
    return 1 - rest


def _erode(p: Tensor) -> Tensor:
    """Minimum over each pixel and its four neighbours; outside the page nothing erodes."""
    q = F.pad(p, (1, 1, 1, 1), value=2.0)
    across = torch.minimum(q[:, 1:-1, :-2], q[:, 1:-1, 2:])
    down = torch.minimum(q[:, :-2, 1:-1], q[:, 2:, 1:-1])
    return torch.minimum(torch.minimum(across, down), p)


def _dilate(p: Tensor) -> Tensor:
    """Maximum over 3 x 3 pixels."""
    q = F.pad(p, (1, 1, 1, 1), value=-1.0)
    rows = torch.maximum(torch.maximum(q[:, :, :-2], q[:, :, 2:]), q[:, :, 1:-1])
    return torch.maximum(torch.maximum(rows[:, :-2], rows[:, 2:]), rows[:, 1:-1])


class _Compiled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, p: Tensor, steps: int) -> Tensor:
        pages = p.detach().contiguous().numpy()
        skeleton, eroded, residues = _forward(pages, steps)
        ctx.saved = eroded, residues
        return torch.from_numpy(skeleton)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        eroded, residues = ctx.saved
        return torch.from_numpy(_backward(grads[0].contiguous().numpy(), eroded, residues)), None


@numba.njit(cache=True, nogil=True, parallel=True)  # type: ignore[untyped-decorator]
def _forward(pages: Pages, steps: int) -> tuple[Pages, Pages, Pages]:  # pragma: no cover - compiled
    """The skeleton; every erosion (steps + 1, B, H + 2, W + 2), framed; every residue (steps, B, H, W)."""
    batch, height, width = pages.shape
    skeleton = np.empty((batch, height, width), np.float32)
    eroded = np.full((steps + 1, batch, height + 2, width + 2), np.float32(2), np.float32)
    residues = np.empty((steps, batch, height, width), np.float32)
    for b in numba.prange(batch):
        eroded[0, b, 1:-1, 1:-1] = pages[b]
        rows = np.empty((height + 2, width), np.float32)
        for k in range(steps):
            p, e = eroded[k, b], eroded[k + 1, b]
            for y in range(1, height + 1):
                for x in range(1, width + 1):
                    a = p[y, x - 1] if p[y, x - 1] < p[y, x + 1] else p[y, x + 1]
                    c = p[y - 1, x] if p[y - 1, x] < p[y + 1, x] else p[y + 1, x]
                    a = a if a < c else c
                    e[y, x] = a if a < p[y, x] else p[y, x]
            # The frame of 2s means "no neighbour" to an erosion; a dilation must not see it.
            for y in range(1, height + 1):
                rows[y, 0] = e[y, 1]
                rows[y, width - 1] = e[y, width]
                if width > 1:
                    rows[y, 0] = max(e[y, 1], e[y, 2])
                    rows[y, width - 1] = max(e[y, width], e[y, width - 1])
                for x in range(1, width - 1):
                    a = e[y, x] if e[y, x] > e[y, x + 2] else e[y, x + 2]
                    rows[y, x] = a if a > e[y, x + 1] else e[y, x + 1]
            rows[0] = rows[1]
            rows[height + 1] = rows[height]
            for y in range(height):
                for x in range(width):
                    a = rows[y, x] if rows[y, x] > rows[y + 2, x] else rows[y + 2, x]
                    a = a if a > rows[y + 1, x] else rows[y + 1, x]
                    r = p[y + 1, x + 1] - a
                    residues[k, b, y, x] = r if r > 0 else np.float32(0)
        rest = np.ones((height, width), np.float32)
        for k in range(steps):
            rest *= np.float32(1) - residues[k, b]
        skeleton[b] = np.float32(1) - rest
    return skeleton, eroded, residues


@numba.njit(cache=True, nogil=True, parallel=True)  # type: ignore[untyped-decorator]
def _backward(grads: Pages, eroded: Pages, residues: Pages) -> Pages:  # pragma: no cover - compiled
    """The gradient with respect to p; a minimum or maximum passes it to the first pixel that attains it."""
    steps, batch, height, width = residues.shape
    result = np.empty((batch, height, width), np.float32)
    for b in numba.prange(batch):
        after = np.zeros((height + 2, width + 2), np.float32)  # of the erosion this step made
        for k in range(steps - 1, -1, -1):
            p, e = eroded[k, b], eroded[k + 1, b]
            before = np.zeros((height + 2, width + 2), np.float32)
            for y in range(1, height + 1):
                for x in range(1, width + 1):
                    if residues[k, b, y - 1, x - 1] <= 0:
                        continue
                    g = grads[b, y - 1, x - 1]
                    for j in range(steps):
                        if j != k:
                            g *= 1 - residues[j, b, y - 1, x - 1]
                    before[y, x] += g
                    best, by, bx = np.float32(-1), y, x
                    for ny in range(max(y - 1, 1), min(y + 1, height) + 1):
                        for nx in range(max(x - 1, 1), min(x + 1, width) + 1):
                            if e[ny, nx] > best:
                                best, by, bx = e[ny, nx], ny, nx
                    after[by, bx] -= g
            for y in range(1, height + 1):
                for x in range(1, width + 1):
                    g = after[y, x]
                    if g == 0:
                        continue
                    low = e[y, x]
                    if p[y, x] == low:
                        before[y, x] += g
                    elif p[y, x - 1] == low:
                        before[y, x - 1] += g
                    elif p[y, x + 1] == low:
                        before[y, x + 1] += g
                    elif p[y - 1, x] == low:
                        before[y - 1, x] += g
                    else:
                        before[y + 1, x] += g
            after = before
        result[b] = after[1:-1, 1:-1]
    return result
