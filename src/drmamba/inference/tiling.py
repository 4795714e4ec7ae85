"""Sliding windows over a page of any size, blended without seams; memory does not grow with the page's height.

The core is a pure function of a page and a prediction, which may be the network, an ONNX session or the formula of a
test. Windows lie on a grid (tops x lefts), so their weights are products of two one-dimensional profiles. Each profile
is normalised to sum to one at every row and column, so that no division is left for the page.

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

import numpy as np
from numpy.typing import NDArray

from drmamba.config import STRIDES, WindowConfig
from drmamba.images import RGB, ArraySource, PageSource

GRID = STRIDES[-1]  # pixels; the step of the network, so that windows of whole steps waste nothing

Probability = NDArray[np.float32]  # (rows, width): the probability of ink
# A prediction takes windows and yields their probabilities in the same order.
Predict = Callable[[Iterator[RGB]], Iterator[Probability]]
WindowPlace = tuple[int, int, int, int]  # top, left, height and width of a window on the page


@dataclass(frozen=True)
class Axis:
    """Where windows start along one side of a page, their sizes, and the weight of each at each of its pixels."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    weights: tuple[NDArray[np.float32], ...]  # (size,) for each window

    @classmethod
    def cover(cls, length: int, window: int, stride: int, *, fit: bool = False) -> Axis:
        """Return windows at most a stride apart from edge to edge; a short side has one smaller window.

        With `fit`, windows may be smaller than requested: there are as many, and they overlap no more than they must.
        Their sizes are whole steps of the network and differ by one step at most.
        """
        overlap = window - stride
        count = 1 if length <= window else -(-(length - overlap) // stride)
        sizes = [min(window, length)] * count
        if fit and count > 1:
            steps = -(-(length + (count - 1) * overlap) // GRID)  # of the network, in all windows together
            fitted = [(steps // count + (i < steps % count)) * GRID for i in range(count)]
            sizes = fitted if max(fitted) <= window else sizes
        spare = (
            sum(sizes) - (count - 1) * overlap - length
        )  # pixels by which windows overlap more than they must
        starts = [sum(sizes[:i]) - i * overlap - -(-spare * i // max(1, count - 1)) for i in range(count)]
        # The raised cosine trusts a window most in its middle and fades out where its context ends.
        profiles = [np.sin(np.pi * (np.arange(size) + 0.5) / size) ** 2 for size in sizes]
        total = np.zeros(length)
        for start, profile in zip(starts, profiles, strict=True):
            total[start : start + len(profile)] += profile
        weights = [
            (profile / total[start : start + len(profile)]).astype(np.float32)
            for start, profile in zip(starts, profiles, strict=True)
        ]
        return cls(tuple(starts), tuple(sizes), tuple(weights))


@dataclass(frozen=True)
class Band:
    """Finished rows of a page."""

    top: int
    probability: Probability


def bands(source: PageSource, predict: Predict, config: WindowConfig | None = None) -> Iterator[Band]:
    """Yield finished rows from top to bottom; at any time only the rows under one line of windows are held."""
    config = config or WindowConfig()
    down = Axis.cover(source.height, config.window, config.stride, fit=config.fit)
    across = Axis.cover(source.width, config.window, config.stride, fit=config.fit)
    results = predict(_windows(source, down, across))
    open_rows = np.zeros((max(down.sizes), source.width), np.float32)  # rows from `top` on, not finished yet
    for row, (top, height) in enumerate(zip(down.starts, down.sizes, strict=True)):
        for column, (left, width) in enumerate(zip(across.starts, across.sizes, strict=True)):
            found = next(results)
            weighted = found * across.weights[column] * down.weights[row][:, None]
            open_rows[:height, left : left + width] += weighted
        last = row + 1 == len(down.starts)
        done = height if last else down.starts[row + 1] - top
        # Weights sum to one only up to rounding, so probabilities are clipped.
        yield Band(top, np.clip(open_rows[:done], 0, 1))
        if not last:
            open_rows[:-done] = open_rows[done:].copy()
            open_rows[-done:] = 0


def places(height: int, width: int, config: WindowConfig | None = None) -> list[WindowPlace]:
    """Return the place of every window on a page of this size, in the order of `bands`."""
    config = config or WindowConfig()
    down = Axis.cover(height, config.window, config.stride, fit=config.fit)
    across = Axis.cover(width, config.window, config.stride, fit=config.fit)
    return [
        (top, left, rows, columns)
        for top, rows in zip(down.starts, down.sizes, strict=True)
        for left, columns in zip(across.starts, across.sizes, strict=True)
    ]


def _windows(source: PageSource, down: Axis, across: Axis) -> Iterator[RGB]:
    """Yield every window, line by line; rows shared by two lines of windows are read once."""
    held = np.empty((0, source.width, 3), np.uint8)
    first = 0
    for top, height in zip(down.starts, down.sizes, strict=True):
        end = first + len(held)
        fresh = source.rows(max(top, end), top + height)
        held = fresh if end <= top else np.concatenate([held[top - first :], fresh])
        first = top
        for left, width in zip(across.starts, across.sizes, strict=True):
            yield np.ascontiguousarray(held[:, left : left + width])


def probability(
    page: NDArray[np.uint8] | PageSource, predict: Predict, config: WindowConfig | None = None
) -> Probability:
    """Return the probability of a whole page, (H, W), from an array or a source; for scoring and small pages."""
    source = page if isinstance(page, PageSource) else ArraySource(page)
    whole = np.empty((source.height, source.width), np.float32)
    for band in bands(source, predict, config):
        whole[band.top : band.top + len(band.probability)] = band.probability
    return whole


def each(predict: Callable[[RGB], Probability]) -> Predict:
    """Return a prediction for many windows from one for a single window."""
    return lambda windows: map(predict, windows)


def to_grey(probability: Probability) -> NDArray[np.uint8]:
    """Return probabilities in 256 steps, as a person would look at them: ink is dark."""
    return ((1 - probability) * 255 + 0.5).astype(np.uint8)
