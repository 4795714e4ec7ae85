"""The soft skeleton of clDice: in plain torch for any device, and compiled for float32 on the CPU.

Both erode the ink step by step and collect what an opening removes, r_k: 1 - skeleton is the product of the (1 - r_k).
After k erosions it contains the centre lines of strokes up to 2k pixels wide.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from drmamba.compilation import compiled
from drmamba.ops.threads import run_shared

Pages = NDArray[np.float32]  # (B, H, W)


def soft_skeleton(p: Tensor, steps: int) -> Tensor:
    """The differentiable centre lines of p, (B, H, W), in [0, 1]."""
    compiled = p.device.type == "cpu" and p.dtype == torch.float32 and not torch.compiler.is_compiling()
    if not compiled:
        return soft_skeleton_reference(p, steps)
    skeleton: Tensor = _Compiled.apply(p, steps)  # type: ignore[no-untyped-call]
    return skeleton


def soft_skeleton_reference(p: Tensor, steps: int) -> Tensor:
    """The same in a few torch operations, against which the compiled form is tested."""
    rest = torch.ones_like(p)
    for _ in range(steps):
        eroded = _erode(p)
        rest = rest * (1 - F.relu(p - _dilate(eroded)))
        p = eroded
    return 1 - rest


def _erode(p: Tensor) -> Tensor:
    """The minimum over each pixel and its four neighbours on the page."""
    q = F.pad(p, (1, 1, 1, 1), value=2.0)
    across = torch.minimum(q[:, 1:-1, :-2], q[:, 1:-1, 2:])
    down = torch.minimum(q[:, :-2, 1:-1], q[:, 2:, 1:-1])
    return torch.minimum(torch.minimum(across, down), p)


def _dilate(p: Tensor) -> Tensor:
    """The maximum over 3 x 3 pixels."""
    q = F.pad(p, (1, 1, 1, 1), value=-1.0)
    rows = torch.maximum(torch.maximum(q[:, :, :-2], q[:, :, 2:]), q[:, :, 1:-1])
    return torch.maximum(torch.maximum(rows[:, :-2], rows[:, 2:]), rows[:, 1:-1])


class _Compiled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, p: Tensor, steps: int) -> Tensor:
        pages = p.detach().contiguous().numpy()
        batch, height, width = pages.shape
        skeleton = np.empty_like(pages)
        eroded = np.empty((steps + 1, batch, height + 2, width + 2), np.float32)
        residues = np.empty((steps, *pages.shape), np.float32)
        run_shared(_forward, batch, pages, skeleton, eroded, residues)
        ctx.saved = eroded, residues
        return torch.from_numpy(skeleton)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        eroded, residues = ctx.saved
        received = gradients[0].contiguous().numpy()
        result = np.empty_like(received)
        run_shared(_backward, len(received), received, result, eroded, residues)
        return torch.from_numpy(result), None


@compiled(nogil=True)
def _forward(
    low: int, high: int, pages: Pages, skeleton: Pages, eroded: Pages, residues: Pages
) -> None:  # pragma: no cover - compiled
    """Fill skeleton (B, H, W), eroded (steps + 1, B, H + 2, W + 2) and residues (steps, B, H, W)."""
    steps, _, height, width = residues.shape
    for b in range(low, high):
        # A frame of 2s never is the minimum of an erosion, and a dilation does not read it.
        eroded[:, b] = np.float32(2)
        eroded[0, b, 1:-1, 1:-1] = pages[b]
        rows = np.empty((height + 2, width), np.float32)
        rest = np.ones((height, width), np.float32)
        for k in range(steps):
            p, e = eroded[k, b], eroded[k + 1, b]
            for y in range(1, height + 1):
                for x in range(1, width + 1):
                    a = p[y, x - 1] if p[y, x - 1] < p[y, x + 1] else p[y, x + 1]
                    c = p[y - 1, x] if p[y - 1, x] < p[y + 1, x] else p[y + 1, x]
                    a = a if a < c else c
                    e[y, x] = a if a < p[y, x] else p[y, x]
            for y in range(1, height + 1):
                rows[y, 0] = max(e[y, 1], e[y, min(2, width)])
                rows[y, width - 1] = max(e[y, width], e[y, max(width - 1, 1)])
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
                    r = r if r > 0 else np.float32(0)
                    residues[k, b, y, x] = r
                    rest[y, x] *= np.float32(1) - r
        skeleton[b] = np.float32(1) - rest


@compiled(nogil=True)
def _backward(
    low: int, high: int, received: Pages, result: Pages, eroded: Pages, residues: Pages
) -> None:  # pragma: no cover - compiled
    """Fill result with the gradient of p; a minimum or maximum passes it to the first pixel that attains it."""
    steps, _, height, width = residues.shape
    for b in range(low, high):
        after = np.zeros((height + 2, width + 2), np.float32)  # gradient of the erosion of this step
        for k in range(steps - 1, -1, -1):
            p, e = eroded[k, b], eroded[k + 1, b]
            before = np.zeros((height + 2, width + 2), np.float32)
            for y in range(1, height + 1):
                for x in range(1, width + 1):
                    if residues[k, b, y - 1, x - 1] <= 0:
                        continue
                    g = received[b, y - 1, x - 1]
                    for j in range(steps):
                        if j != k:
                            g *= np.float32(1) - residues[j, b, y - 1, x - 1]
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
                    least = e[y, x]
                    if p[y, x] == least:
                        before[y, x] += g
                    elif p[y, x - 1] == least:
                        before[y, x - 1] += g
                    elif p[y, x + 1] == least:
                        before[y, x + 1] += g
                    elif p[y - 1, x] == least:
                        before[y - 1, x] += g
                    else:
                        before[y + 1, x] += g
            after = before
        result[b] = after[1:-1, 1:-1]
