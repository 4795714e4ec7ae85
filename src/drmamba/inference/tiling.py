"""Sliding windows over a page of any size, blended without seams; memory does not grow with its height.

The core is a pure function of rows and a prediction: the network, an ONNX session or a test's formula alike.
Windows lie on a grid (tops x lefts), so their weights are products of two one-dimensional profiles, each
normalised to sum to one at every row and column: no division is left for the page.

>>> import numpy as np
>>> page = np.full((700, 900), 255, np.uint8)
>>> page[300:310, 200:700] = 0
>>> ink = probability(page, each(lambda window: (window[:, :, 0] < 128).astype(np.float32)))
>>> ink.shape, round(float(ink.sum()))
((700, 900), 5000)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from drmamba.config import WindowConfig
from drmamba.images import RGB, ArraySource, PageSource

GRID = 32  # the network's coarsest step: windows of whole steps waste nothing

Probability = NDArray[np.float32]  # (rows, width), of ink
Predict = Callable[
    [Iterator[RGB]], Iterator[Probability]
]  # windows in, in the same order their probabilities


@dataclass(frozen=True)
class Axis:
    """Where windows start along one side of a page, and how much each counts at each of its pixels."""

    starts: tuple[int, ...]
    size: int
    weights: NDArray[np.float32]  # (windows, size)

    @classmethod
    def cover(cls, length: int, window: int, stride: int, *, fit: bool = False) -> Axis:
        """Windows at most stride apart, evenly spread from edge to edge; one smaller on a short side.

        With `fit` windows may be smaller than asked for: as many, overlapping no more than they must.
        """
        overlap = window - stride
        count = 1 if length <= window else -(-(length - overlap) // stride)
        size = min(window, length)
        if fit and count > 1:
            needed = -(-(length + (count - 1) * overlap) // count)
            size = min(window, -(-needed // GRID) * GRID)
        starts = tuple((length - size) * i // max(1, count - 1) for i in range(count))
        # A raised cosine: a window says most about its middle and fades out where its context ends.
        profile = np.sin(np.pi * (np.arange(size) + 0.5) / size) ** 2
        total = np.zeros(length)
        for start in starts:
            total[start : start + size] += profile
        weights = np.stack([profile / total[start : start + size] for start in starts])
        return cls(starts, size, weights.astype(np.float32))


@dataclass(frozen=True)
class Band:
    """Finished rows of a page."""

    top: int
    probability: Probability


def bands(rows: PageSource, predict: Predict, config: WindowConfig | None = None) -> Iterator[Band]:
    """Finished rows from top to bottom; at any time only the rows under one line of windows are held."""
    config = config or WindowConfig()
    down = Axis.cover(rows.height, config.window, config.stride, fit=config.fit)
    across = Axis.cover(rows.width, config.window, config.stride, fit=config.fit)
    results = predict(_windows(rows, down, across))
    open_rows = np.zeros((down.size, rows.width), np.float32)  # from `top` on, not finished yet
    for row, top in enumerate(down.starts):
        for column, left in enumerate(across.starts):
            found = next(results)
            weighted = found * across.weights[column] * down.weights[row][:, None]
            open_rows[:, left : left + across.size] += weighted
        last = row + 1 == len(down.starts)
        done = down.size if last else down.starts[row + 1] - top
        # Weights sum to one up to rounding: keep a probability a probability.
        yield Band(top, np.clip(open_rows[:done], 0, 1))
        if not last:
            open_rows[:-done] = open_rows[done:].copy()
            open_rows[-done:] = 0


def places(height: int, width: int, config: WindowConfig | None = None) -> list[tuple[int, int, int, int]]:
    """Top, left, height and width of every window on a page of this size, in the order of `bands`."""
    config = config or WindowConfig()
    down = Axis.cover(height, config.window, config.stride, fit=config.fit)
    across = Axis.cover(width, config.window, config.stride, fit=config.fit)
    return [(top, left, down.size, across.size) for top in down.starts for left in across.starts]


def _windows(rows: PageSource, down: Axis, across: Axis) -> Iterator[RGB]:
    """Every window, line by line; rows shared by two lines of windows are read once."""
    held = np.empty((0, rows.width, 3), np.uint8)
    first = 0
    for top in down.starts:
        end = first + len(held)
        fresh = rows.rows(max(top, end), top + down.size)
        held = fresh if end <= top else np.concatenate([held[top - first :], fresh])
        first = top
        for left in across.starts:
            yield np.ascontiguousarray(held[:, left : left + across.size])


def probability(
    page: NDArray[np.uint8] | PageSource, predict: Predict, config: WindowConfig | None = None
) -> Probability:
    """The whole page at once, (H, W), from an array or rows; for scoring and small pages."""
    rows = page if isinstance(page, PageSource) else ArraySource(page)
    whole = np.empty((rows.height, rows.width), np.float32)
    for band in bands(rows, predict, config):
        whole[band.top : band.top + len(band.probability)] = band.probability
    return whole


def each(predict: Callable[[RGB], Probability]) -> Predict:
    """A prediction for one window as one for many."""
    return lambda windows: map(predict, windows)


def batched(predict: Callable[[NDArray[np.uint8]], Probability], size: int) -> Predict:
    """A prediction for a batch (n, h, w, 3) -> (n, h, w) as one for a stream of windows."""

    def stream(windows: Iterator[RGB]) -> Iterator[Probability]:
        while batch := list(islice(windows, size)):
            yield from predict(np.stack(batch))

    return stream
