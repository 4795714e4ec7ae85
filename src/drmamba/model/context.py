"""Page context: deep features of the reduced page, added to those of a window where it lies.

Whether a pale stroke is ink or bleed-through depends on how dark the page's ink is, and the nearest ink may be a
thousand pixels away. So the encoder also sees the whole page, reduced, and its features at strides 16 and 32 are
sampled under each window and added to F_3 and F_4 through 1 x 1 convolutions that are initialized to zero. This is not
part of the paper (docs/paper_map.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from drmamba.config import STRIDES
from drmamba.model.page_tiles import seen_in_tiles


class PageFeatures(NamedTuple):
    """The features of a reduced page: its projected F_3 and F_4, each (B, C, h, w)."""

    f3: Tensor
    f4: Tensor


class SupportsLook(Protocol):
    """A network that computes the features of reduced pages."""

    def look(self, reduced: Tensor) -> PageFeatures | None:
        """The features of a reduced page, or None without page context."""


class PageContext(nn.Module):
    """Adds the features of the page to those of a window."""

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
        """The features of windows with those of their pages added.

        `place`, (B, 2), holds the top and left of each window on its page, in the window's own pixels. `visible`, (B,),
        is 0 for windows that get no page features.
        """
        result = list(features[:2])
        for feature, found, stride in zip(features[2:], page, STRIDES[2:], strict=True):
            part = sampled(found, place, feature.shape[-2:], stride, self.reduction)
            if visible is not None:
                part = part * visible[:, None, None, None]
            result.append(feature + part.to(feature.dtype))
        return result


def sampled(found: Tensor, place: Tensor, size: Sequence[int], stride: int, reduction: int) -> Tensor:
    """The part of a page's feature map under a window, interpolated linearly to the window's own cells.

    found: (B or 1, C, h, w)   place: (B, 2)   size: rows and columns of the window's map   ->   (B, C, *size)
    """
    down, across = (
        _interpolation(place[:, axis], size[axis], found.shape[2 + axis], stride, reduction)
        for axis in (0, 1)
    )
    wide = found.float()
    return torch.einsum("brh,bchw,bsw->bcrs", down, wide.expand(len(place), -1, -1, -1), across)


def _interpolation(start: Tensor, count: int, cells: int, stride: int, reduction: int) -> Tensor:
    """The interpolation weights along one axis, (B, count, cells): of each page cell for each window cell."""
    middle = start[:, None] + (torch.arange(count, device=start.device) + 0.5) * stride  # page pixels
    # In cells of the page, whose centres have integer positions.
    at = (middle / (stride * reduction) - 0.5).clamp(0, cells - 1)
    return (1 - (at[..., None] - torch.arange(cells, device=start.device)).abs()).clamp_min(0)


def look_in_tiles(network: SupportsLook, page: Tensor) -> PageFeatures | None:
    """`network.look` on a page of any size, (1, 3, h, w), in tiles if it is large."""
    height, width = page.shape[-2:]
    found = seen_in_tiles(
        lambda rows, columns: network.look(page[:, :, rows, columns]), height, width, torch.cat
    )
    return None if found is None else PageFeatures(*found)
