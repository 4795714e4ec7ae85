"""Page features computed in tiles, for torch tensors and numpy arrays alike, so torch is not imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from drmamba.config import STRIDES

TILE = 1280  # side in pixels of the part of the reduced page that is seen at once
# Pixels on each side of a tile that serve as surroundings for the others. No feature depends on pixels further away.
OVERLAP = 256

Look = Callable[[slice, slice], Sequence[Any] | None]  # maps rows and columns of a page to its F_3 and F_4
Join = Callable[[list[Any], int], Any]  # joins arrays along an axis: torch.cat or numpy.concatenate


def seen_in_tiles(look: Look, height: int, width: int, join: Join) -> list[Any] | None:
    """F_3 and F_4, each (B, C, h, w), of a page of any size, in memory that grows only with the result.

    A page larger than TILE is seen in overlapping tiles, so that no feature depends on pixels outside its tile. The
    result is None if that of `look` is.
    """
    if max(height, width) <= TILE:
        found = look(slice(0, height), slice(0, width))
        return None if found is None else list(found)
    step = TILE - 2 * OVERLAP
    lines = []
    for top in range(0, height, step):
        tiles = []
        for left in range(0, width, step):
            rows, columns = _seen(top, height), _seen(left, width)
            found = look(rows, columns)
            if found is None:
                return None
            tiles.append(
                [
                    values[:, :, _kept(top, rows, stride), _kept(left, columns, stride)]
                    for values, stride in zip(found, STRIDES[2:], strict=True)
                ]
            )
        lines.append([join(list(parts), 3) for parts in zip(*tiles, strict=True)])
    return [join(list(parts), 2) for parts in zip(*lines, strict=True)]


def _seen(start: int, length: int) -> slice:
    """The pixels of a tile along one side: its own and their surroundings, up to the edges of the page."""
    return slice(max(0, start - OVERLAP), min(length, start + TILE - OVERLAP))


def _kept(start: int, seen: slice, stride: int) -> slice:
    """The feature cells of a tile along one side that are its own."""
    first = (start - seen.start) // stride
    return slice(first, first + (TILE - 2 * OVERLAP) // stride)
