"""Page context: what a window cannot see, found on the reduced page and added to its features where it lies.

Whether a pale stroke is ink or bleed-through depends on how dark the page's ink is, and the nearest ink may be a
thousand pixels away. So a small network of its own sees the whole page, reduced, and its features are sampled under
each window and added to F_3 and F_4 through 1 x 1 convolutions that are initialized to zero. This is not part of the
paper (docs/paper_map.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from drmamba.config import STRIDES
from drmamba.model.decoder import conv_norm_act
from drmamba.model.page_tiles import seen_in_tiles

WIDTHS = (24, 32, 48, 64)  # channels of the network that sees the page, at strides 2, 4, 8 and 16
# Side of the surroundings, in cells of 16 reduced pixels: as wide as a region of training.
SURROUNDINGS = 17


class PageFeatures(NamedTuple):
    """What is added to F_3 and F_4 on a page, (B, C, h, w) each, at strides 16 and 32 of the reduced page."""

    f3: Tensor
    f4: Tensor


class SupportsLook(Protocol):
    """A network that computes the features of reduced pages."""

    def look(self, reduced: Tensor) -> PageFeatures | None:
        """The features of a reduced page, or None without page context."""


class PageContext(nn.Module):
    """Sees a reduced page, and adds what it finds to the features of windows.

    Each position is compared with the mean and the maximum of its surroundings, because pale ink and bleed-through are
    told apart by the darkest ink near them. The page is halved once more, which makes thin strokes pale, so the network
    sees the darkest of four pixels beside their mean.
    """

    def __init__(self, widths: Sequence[int], reduction: int) -> None:
        super().__init__()
        self.reduction = reduction
        first, *others, last = WIDTHS
        self.stem = nn.Sequential(
            conv_norm_act(6, first),
            *(
                conv_norm_act(before, width, stride=2)
                for before, width in zip((first, *others), (*others, last), strict=True)
            ),
        )
        self.compare = nn.Sequential(conv_norm_act(3 * last, last), conv_norm_act(last, last, dilation=2))
        self.f3, self.f4 = (nn.Conv2d(last, width, 1) for width in widths[2:])
        for projection in (self.f3, self.f4):
            for parameter in projection.parameters():
                nn.init.zeros_(parameter)

    def see(self, page: Tensor) -> PageFeatures:
        """The features of a reduced page, normalized like a window, (B, 3, h, w); sides are multiples of 32."""
        x = self.stem(torch.cat([F.avg_pool2d(page, 2), -F.max_pool2d(-page, 2)], 1))
        around = SURROUNDINGS // 2
        mean = F.avg_pool2d(x, SURROUNDINGS, 1, around, count_include_pad=False)
        maximum = F.max_pool2d(x, SURROUNDINGS, 1, around)
        x = self.compare(torch.cat([x, mean, maximum], 1))
        return PageFeatures(self.f3(x), self.f4(F.avg_pool2d(x, 2)))

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
