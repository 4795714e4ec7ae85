"""The maps of the dual-route block over a page, and the page with another suppression or threshold.

The maps of a window are D, B and beta of the dual-route block (Eqs. 6-12), averaged over its channels. They are
blended over the page exactly as the probability is. If the runtime can keep the routes, as torch can, another
`suppress` needs neither the encoder nor the scans: only the fusion and what follows it run again.

>>> import numpy as np
>>> from drmamba import Binarizer
>>> binarizer = Binarizer.from_pretrained(explain=True)
>>> page = binarizer(np.random.default_rng(0).integers(0, 255, (60, 80, 3), np.uint8))
>>> page.explanation.beta.shape, bool((page.explanation.beta <= 1).all())
((60, 80), True)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, fields, replace
from itertools import repeat
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from drmamba.config import STRIDES, InferenceConfig, replace_values
from drmamba.errors import InputError
from drmamba.images import RGB, PageSource
from drmamba.inference.analysis import analyse_page
from drmamba.inference.analysis.contrast import contrast
from drmamba.inference.binarizer import BinarizedPage, Binarizer
from drmamba.inference.runtime.base import ExplainedWindow
from drmamba.inference.tiling import Predict, Probability

T = TypeVar("T")
Map = NDArray[np.float32]  # (H, W), 0 or more


@dataclass(frozen=True)
class Explanation:
    """The maps of a page, each (H, W) and averaged over the block's channels."""

    D: Map  # the detail route, which follows fast changes
    B: Map  # the background route, which follows slow changes
    beta: Map  # the gate, 0 to 1 (times `suppress`): the share of B that is subtracted
    taken: Map  # beta * B, which was subtracted from D

    def maps(self) -> dict[str, Map]:
        """Return the maps by name, in the order of the fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class Exploration:
    """One page that the network has seen once, for several suppressions and thresholds.

    `keep` is how many bytes may be held for the routes. If that is enough for all windows, `adjust` runs only what
    follows the maps; otherwise it runs the whole network again. The page must stay readable in the meantime.
    """

    def __init__(
        self, binarizer: Binarizer, rows: PageSource, config: InferenceConfig | None = None, *, keep: int = 0
    ) -> None:
        self.binarizer, self.rows = binarizer, rows
        # Only a page that the network sees has maps.
        self.config = replace(config or binarizer.config, keep_bilevel=False)
        if self.config.precision not in ("auto", "float32"):
            raise InputError(
                f"maps are made in float32, not in {self.config.precision}; leave the precision out"
            )
        self.analysis = analyse_page(rows)
        self.view = binarizer.view(rows, self.analysis, self.config)
        self.context = binarizer.context(rows, self.config, self.view)
        self._left = keep
        self._seen: list[ExplainedWindow] = []
        self.page = self._binarize(self._record)

    @property
    def kept(self) -> int:
        """Bytes held for the routes; 0 if another suppression needs the whole network."""
        return sum(seen.bytes for seen in self._seen)

    def adjust(self, *, suppress: float | None = None, threshold: float | None = None) -> BinarizedPage:
        """Return the page with another suppression or threshold, which hold from now on."""
        old = self.config
        changes = {"suppress": suppress, "threshold": threshold}
        self.config = replace_values(old, {k: v for k, v in changes.items() if v is not None})
        if self.config.suppress == old.suppress:
            self.page = self._binarize(lambda _: iter([seen.probability for seen in self._seen]))
        elif self.kept:
            fused = list(self._stream(map(self._fuser, self._seen)))
            self._seen = [replace(s, probability=p) for s, p in zip(self._seen, fused, strict=True)]
            self.page = self._binarize(lambda _: iter(fused))
        else:
            self._seen = []
            self.page = self._binarize(self._record)
        return self.page

    def explained(self) -> BinarizedPage:
        """Return the page with its maps."""
        return replace(self.page, explanation=self.explanation())

    def explanation(self) -> Explanation:
        """Return the maps over the whole page, at its own size."""
        D, B, beta, taken = (self._stitched(channel) for channel in range(4))
        strength = np.float32(self.config.suppress)
        return Explanation(D, B, beta * strength, taken * strength)

    def _binarize(self, predict: Predict) -> BinarizedPage:
        return self.binarizer.binarize(
            self.rows, self.config, analysis=self.analysis, view=self.view, predict=predict
        )

    def _stitched(self, channel: int) -> Map:
        # Bands hold values from 0 to 1. Blending is linear, so a map is divided by its largest value first.
        largest = max(float(seen.means[channel].max()) for seen in self._seen) or 1.0
        page = np.empty((self.rows.height, self.rows.width), np.float32)
        predict: Predict = lambda _: (_enlarged(s, channel) / np.float32(largest) for s in self._seen)  # noqa: E731
        view = replace(self.view, noise=0.0)  # the network has seen the noise already
        for band in self.binarizer.bands(self.rows, self.config, view, predict):
            page[band.top : band.top + len(band.probability)] = band.probability
        return page * np.float32(largest)

    def _record(self, windows: Iterator[RGB]) -> Iterator[Probability]:
        """Predict windows and remember their maps."""
        for seen in self._stream(map(self._recorder, windows, self.context.places or repeat(None))):
            self._left -= seen.bytes
            if self._left < 0:  # the routes of half a page would be of no use
                seen = _without_routes(seen)
                self._seen = [_without_routes(s) for s in self._seen]
            self._seen.append(seen)
            yield seen.probability

    def _stream(self, work: Iterator[Callable[[Any], T]]) -> Iterator[T]:
        """Yield results in order; as many are under way as there are workers."""
        waiting: deque[Future[T]] = deque()
        try:
            for one in work:
                waiting.append(self.binarizer.pool.submit(one))
                if len(waiting) > self.binarizer.pool.count + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # If nobody wants the rest, windows that have not begun are not computed.
            for future in waiting:
                future.cancel()

    def _recorder(self, window: RGB, place: tuple[int, int] | None) -> Callable[[Any], ExplainedWindow]:
        runtime, page = self.binarizer.pool.runtime, self.context.features
        suppress, keep = self.config.suppress, self._left > 0
        blank = contrast(window) < self.config.min_contrast
        convention = runtime.convention(self.config.keep)

        def record(network: Any) -> ExplainedWindow:
            seen = runtime.explain(network, window, suppress, convention=convention, page=page, place=place)
            if blank:  # The probability stays 0, whatever the suppression is.
                seen = replace(_without_routes(seen), probability=np.zeros(window.shape[:2], np.float32))
            return seen if keep else _without_routes(seen)

        return record

    def _fuser(self, seen: ExplainedWindow) -> Callable[[Any], Probability]:
        runtime, suppress = self.binarizer.pool.runtime, self.config.suppress
        return lambda network: (
            seen.probability if seen.routes is None else runtime.fuse(network, seen.routes, suppress)
        )


def _enlarged(seen: ExplainedWindow, channel: int) -> Map:
    """Return a window's map at the window's own size, interpolated linearly."""
    height, width = seen.probability.shape
    values: Map = seen.means[channel]
    for axis, side in ((0, height), (1, width)):
        cells = values.shape[axis]
        at = np.clip((np.arange(side, dtype=np.float32) + 0.5) / STRIDES[0] - 0.5, 0, cells - 1)
        lower = at.astype(np.intp)
        weight = (at - lower).astype(np.float32).reshape((-1, 1) if axis == 0 else (-1,))
        upper = np.minimum(lower + 1, cells - 1)
        values = values.take(lower, axis) * (1 - weight) + values.take(upper, axis) * weight
    return values


def _without_routes(seen: ExplainedWindow) -> ExplainedWindow:
    return replace(seen, routes=None, bytes=0)
