"""The targets of the losses, made once with each crop: ink, signed distance, skeleton and boundary band.

The boundary of a stroke runs between pixels: it is the set of edges shared by an ink pixel and a blank one. The signed
distance is therefore zero exactly on the boundary, positive on every ink pixel and negative on every blank one (the
nearest lie half a pixel away), and P > 0 decides as the paper says, even for strokes one pixel wide. Distances are
measured within the crop only.

Both algorithms are written here: `scipy.ndimage.distance_transform_edt` measures between pixel centres, not to the
boundary, and covers the whole crop where a few pixels are enough; scipy has no thinning.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drmamba.compilation import compiled
from drmamba.config import LossConfig
from drmamba.data.page import Field
from drmamba.images import Ink


def targets(ink: Ink, config: LossConfig) -> dict[str, Field]:
    """All targets of one crop, each (H, W) float32.

    ink: 1 on ink. skeleton: 1 on the centre lines. band: 1 on pixels whose centres lie less than `config.band` pixels
    from a boundary, on either side. distance: S(Y) of Eq. (19), the exact Euclidean distance to the nearest boundary,
    clipped at `config.saturation` pixels and divided by it; it is positive on ink, negative elsewhere, and 1 or -1
    throughout a crop without a boundary.
    """
    ink = np.ascontiguousarray(ink)
    reach = max(config.saturation, config.band)
    pixels = _signed_distance(ink, np.float32(reach))
    return {
        "ink": ink.astype(np.float32),
        "distance": np.clip(pixels / np.float32(config.saturation), -1, 1),
        "skeleton": skeleton(ink).astype(np.float32),
        "band": (np.abs(pixels) < config.band).astype(np.float32),
    }


def skeleton(ink: Ink) -> Ink:
    """Centre lines one pixel wide, by the parallel thinning of Guo and Hall (CACM 1989, algorithm A1).

    Every 8-connected component keeps at least one pixel, and none splits or joins another.
    """
    padded = np.zeros((ink.shape[0] + 2, ink.shape[1] + 2), np.uint8)
    padded[1:-1, 1:-1] = ink
    _thin(padded, REMOVABLE)
    return padded[1:-1, 1:-1].astype(np.bool_)


@compiled(nogil=True)
def _signed_distance(ink: Ink, limit: np.float32) -> Field:  # pragma: no cover - compiled
    """Signed distance in pixels from each centre to the nearest pixel square of the other class.

    Distances along rows come first, then rows above and below are searched while a nearer square is possible. The
    result is exact and costs O(limit) per pixel.
    """
    height, width = ink.shape
    far = np.float32(1e9)
    # Horizontal distance to the nearest ink [0] and the nearest blank [1] square of the same row.
    across = np.full((2, height, width), far, np.float32)
    for y in range(height):
        for backwards in range(2):
            seen = np.full(2, -1, np.int64)
            for step in range(width):
                x = width - 1 - step if backwards else step
                seen[0 if ink[y, x] else 1] = x
                for kind in range(2):
                    if seen[kind] >= 0:
                        gap = np.float32(max(abs(x - seen[kind]) - 0.5, 0.0))
                        if gap < across[kind, y, x]:
                            across[kind, y, x] = gap
    result = np.empty((height, width), np.float32)
    for y in range(height):
        for x in range(width):
            other = 1 if ink[y, x] else 0
            best = min(across[other, y, x], limit)
            best *= best
            rows = 1
            while (rows - 0.5) ** 2 < best and (y - rows >= 0 or y + rows < height):
                up = np.float32((rows - 0.5) ** 2)
                if y - rows >= 0:
                    best = min(best, up + across[other, y - rows, x] ** 2)
                if y + rows < height:
                    best = min(best, up + across[other, y + rows, x] ** 2)
                rows += 1
            distance = np.float32(np.sqrt(best))
            result[y, x] = distance if ink[y, x] else -distance
    return result


def _removable() -> NDArray[np.uint8]:
    """A table of the 256 neighbourhoods: bit 0 is set if the first half-step deletes the pixel, bit 1 if the second.

    Bits 0 to 7 are the neighbours N, NE, E, SE, S, SW, W, NW.
    """
    table = np.zeros(256, np.uint8)
    for code in range(256):
        n, ne, e, se, s, sw, w, nw = ((code >> bit) & 1 for bit in range(8))
        crossings = (
            (not n and (ne or e)) + (not e and (se or s)) + (not s and (sw or w)) + (not w and (nw or n))
        )
        pairs = min(
            (nw or n) + (ne or e) + (se or s) + (sw or w),
            (n or ne) + (e or se) + (s or sw) + (w or nw),
        )
        if crossings != 1 or pairs not in (2, 3):
            continue
        first = (n or ne or not se) and e
        second = (s or sw or not nw) and w
        table[code] = (not first) + 2 * (not second)
    return table


REMOVABLE = _removable()


@compiled(nogil=True)
def _thin(page: NDArray[np.uint8], removable: NDArray[np.uint8]) -> None:  # pragma: no cover - compiled
    """Thin a page with a blank border in place; each pass visits only the pixels that are still ink."""
    alive = np.argwhere(page)
    count = len(alive)
    doomed = np.empty(count, np.int64)
    quiet = 0
    half = 0
    while quiet < 2:
        found = 0
        for k in range(count):
            y, x = alive[k, 0], alive[k, 1]
            code = (
                page[y - 1, x]
                | page[y - 1, x + 1] << 1
                | page[y, x + 1] << 2
                | page[y + 1, x + 1] << 3
                | page[y + 1, x] << 4
                | page[y + 1, x - 1] << 5
                | page[y, x - 1] << 6
                | page[y - 1, x - 1] << 7
            )
            if removable[code] >> half & 1:
                doomed[found] = k
                found += 1
        for j in range(found):
            page[alive[doomed[j], 0], alive[doomed[j], 1]] = 0
        kept = 0
        for k in range(count):
            if page[alive[k, 0], alive[k, 1]]:
                alive[kept] = alive[k]
                kept += 1
        count = kept
        quiet = 0 if found else quiet + 1
        half = 1 - half
