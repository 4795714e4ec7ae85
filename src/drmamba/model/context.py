"""Page context: deep features of the reduced page, added to those of a window where it lies.

Whether a pale stroke is ink or shows through from the other side depends on how dark the page's ink is, and the
nearest ink may be a thousand pixels away. So the encoder also sees the whole page, reduced, and what it finds there at
strides 16 and 32 is sampled under each window and added to F_3 and F_4 through 1x1 convolutions that start at zero.
This is no part of the paper (docs/paper_map.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from drmamba.config import STRIDES

TILE = 1280  # pixels of the reduced page that are seen at once, each way
# Pixels on each side of a tile that are seen for their neighbours' sake. With 128, F_4 of EfficientNet-Lite0 differed
# from that of the whole page by up to 1.2 of its standard deviations at a seam; with 256, by up to 0.06.
OVERLAP = 256


class PageFeatures(NamedTuple):
    """The reduced page as windows need it: its projected F_3 and F_4, each (B, C, h, w)."""

    f3: Tensor
    f4: Tensor


class Looker(Protocol):
    """A network that sees whole pages."""

    def look(self, reduced: Tensor) -> PageFeatures | None:
        """What windows need to know of their page."""


class PageContext(nn.Module):
    """Adds the page's features to a window's."""

    def __init__(self, widths: Sequence[int], reduction: int) -> None:
        super().__init__()
        self.reduction = reduction
        self.f3, self.f4 = (nn.Conv2d(width, width, 1) for width in widths[2:])
        for parameter in self.parameters():
            nn.init.zeros_(parameter)

    def project(self, features: Sequence[Tensor]) -> PageFeatures:
        """The encoder's features of the reduced page, ready to be sampled."""
        return PageFeatures(self.f3(features[2]), self.f4(features[3]))

    def forward(
        self, features: Sequence[Tensor], page: PageFeatures, place: Tensor, visible: Tensor | None = None
    ) -> list[Tensor]:
        """Features of windows with those of their pages added.

        `place`, (B, 2), holds the top and left of each window on its page, in the window's own pixels; windows that
        are not `visible`, (B,), do not see their page.
        """
        result = list(features[:2])
        for feature, found, stride in zip(features[2:], page, STRIDES[2:], strict=True):
            part = sampled(found, place, feature.shape[-2:], stride, self.reduction)
            if visible is not None:
                part = part * visible[:, None, None, None]
            result.append(feature + part.to(feature.dtype))
        return result


def sampled(found: Tensor, place: Tensor, size: Sequence[int], stride: int, reduction: int) -> Tensor:
    """The part of a page's feature map that lies under a window, interpolated linearly to the window's own cells.

    found: (B or 1, C, h, w)   place: (B, 2)   size: rows and columns of the window's map   ->   (B, C, *size)
    """
    down, across = (
        _interpolation(place[:, axis], size[axis], found.shape[2 + axis], stride, reduction)
        for axis in (0, 1)
    )
    wide = found.float()
    return torch.einsum("brh,bchw,bsw->bcrs", down, wide.expand(len(place), -1, -1, -1), across)


def _interpolation(start: Tensor, count: int, cells: int, stride: int, reduction: int) -> Tensor:
    """(B, count, cells): how much each cell of the page counts for each cell of the window, along one axis."""
    middle = start[:, None] + (torch.arange(count, device=start.device) + 0.5) * stride  # page pixels
    at = (middle / (stride * reduction) - 0.5).clamp(
        0, cells - 1
    )  # cells of the page, whose middles are integers
    return (1 - (at[..., None] - torch.arange(cells, device=start.device)).abs()).clamp_min(0)


def look_in_tiles(network: Looker, page: Tensor) -> PageFeatures | None:
    """`network.look` on a page of any size, (1, 3, h, w), in memory that does not grow with it but for the result.

    A page above TILE is seen in tiles that overlap so far that a feature hardly depends on where the seams lie.
    """
    height, width = page.shape[-2:]
    if max(height, width) <= TILE:
        return network.look(page)
    rows = []
    for top in range(0, height, TILE - 2 * OVERLAP):
        row = [_tile(network, page, top, left) for left in range(0, width, TILE - 2 * OVERLAP)]
        if any(found is None for found in row):
            return None
        rows.append([torch.cat(parts, 3) for parts in zip(*(found for found in row if found), strict=True)])
    return PageFeatures(*(torch.cat(parts, 2) for parts in zip(*rows, strict=True)))


def _tile(network: Looker, page: Tensor, top: int, left: int) -> PageFeatures | None:
    """The features of one tile's middle; at the page's edges up to them."""
    height, width = page.shape[-2:]
    first = max(0, top - OVERLAP), max(0, left - OVERLAP)
    last = min(height, top + TILE - OVERLAP), min(width, left + TILE - OVERLAP)
    found = network.look(page[:, :, first[0] : last[0], first[1] : last[1]])
    if found is None:
        return None
    step = TILE - 2 * OVERLAP
    parts = []
    for values, stride in zip(found, STRIDES[2:], strict=True):
        y, x = (top - first[0]) // stride, (left - first[1]) // stride
        parts.append(values[:, :, y : y + step // stride, x : x + step // stride])
    return PageFeatures(*parts)
