"""`Binarizer`: a page in, a black-and-white page out. Programs, services and commands all use it.

A page takes five steps: analyse it, choose how the network sees it, predict, apply the threshold, judge the result.

>>> import numpy as np
>>> from drmamba import Binarizer
>>> binarizer = Binarizer.from_pretrained()          # the embedded model; or a name, a file, a Hub id
>>> scan = np.full((120, 90, 3), 230, np.uint8)      # an array, a path or a PIL image
>>> page = binarizer(scan)
>>> page.binary.shape, page.binary.dtype, page.probability.dtype
((120, 90), dtype('bool'), dtype('float32'))
>>> page.quality.flags[-1]                           # nothing was written on it
'blank'
>>> [p.binary.any() for p in binarizer([scan, scan])]
[np.False_, np.False_]
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.checkpoint import Provenance
from drmamba.config import DEFAULT_MODEL, KEPT, EngineConfig, InferenceConfig, replace_values
from drmamba.config import Keep as MarksKept
from drmamba.errors import CheckpointError, InputError
from drmamba.files import write_atomic
from drmamba.images import (
    DPI,
    RGB,
    Bitmap,
    GreyLayer,
    Ink,
    PageSource,
    as_page_source,
    encode_grey,
    open_pages,
    write_bitmap,
)
from drmamba.inference.analysis import PageAnalysis, analyse_page
from drmamba.inference.assessment import Draft, assess
from drmamba.inference.despeckle import SpeckSize, remove_specks
from drmamba.inference.models import load_model
from drmamba.inference.page_cache import cached
from drmamba.inference.page_context import WindowContext, page_context
from drmamba.inference.page_progress import WindowWatch, watched
from drmamba.inference.quality import Quality, QualityCounter
from drmamba.inference.runtime.base import Runtime
from drmamba.inference.runtime.pool import WorkerPool
from drmamba.inference.tiling import Band, Predict, Probability, bands, each, places, to_grey
from drmamba.inference.view import PageView, choose_view

if TYPE_CHECKING:
    from torch import nn

    from drmamba.inference.explain import Explanation

Source = str | Path | Image.Image | NDArray[Any] | PageSource
Keep = Literal["ink", "grey", "probability"]

CACHE_SHARE = 0.25  # of the memory limit; a page whose pixels take no more is read once and kept

UNTRAINED = "the model {!r} is UNTRAINED: its pages mean nothing; train it, or give a trained model file"


class UntrainedWarning(UserWarning):
    """The network has random weights, so its results mean nothing."""


@dataclass(frozen=True)
class BinarizedPage:
    """A binarized page."""

    bitmap: Bitmap
    quality: Quality
    kept: Probability | None = None
    grey: NDArray[np.uint8] | None = None  # the probability in 256 steps, ink dark: a quarter of the memory
    explanation: Explanation | None = None  # the network's maps, if they were requested
    layers: tuple[GreyLayer, ...] = ()  # pictures in grey for a PDF page; other files cannot have them

    @cached_property
    def binary(self) -> Ink:
        """(H, W) booleans; True is ink."""
        return self.bitmap.unpack()

    @property
    def probability(self) -> Probability:
        """(H, W) probabilities of ink, from 0 to 1."""
        if self.kept is None:
            raise InputError("this page was made without its probabilities; ask for keep='probability'")
        return self.kept

    @property
    def dpi(self) -> DPI | None:
        """Horizontal and vertical resolution, if the source states one."""
        return self.bitmap.dpi

    def save(self, path: str | Path) -> None:
        """Write a 1-bit PNG, TIFF or PDF, as the name's ending says; the resolution is kept."""
        write_bitmap(path, self.bitmap, layers=self.layers)

    def save_soft(self, path: str | Path) -> None:
        """Write the probability as an 8-bit PNG, ink dark."""
        write_atomic(path, self.encode_soft())

    def encode_soft(self, record: str = "") -> bytes:
        """Return the probability as the bytes of an 8-bit PNG, ink dark."""
        grey = self.grey
        if grey is None:
            grey = to_grey(self.probability)
        return encode_grey(grey, self.dpi, record)


class Binarizer:
    """A network with its settings, ready for pages; close it, or use it in a `with`, to free its threads."""

    def __init__(
        self,
        network: nn.Module | Runtime | WorkerPool,
        *,
        config: InferenceConfig | None = None,
        engine: EngineConfig | None = None,
        provenance: Provenance | None = None,
        sha256: str = "",
        explain: bool = False,
    ) -> None:
        self.watch: WindowWatch | None = None  # is told about every window that is done
        self.explain = explain  # whether every page comes with the maps that led to it
        self.provenance = provenance or Provenance()
        self.sha256 = sha256  # hash of the model file
        self._shared = isinstance(network, WorkerPool)
        self.pool = network if isinstance(network, WorkerPool) else WorkerPool(network, engine)
        config = config or InferenceConfig()
        self.check(config)  # raises before any page is opened
        # Records state the precision in which pages are made, not that it was left to the runtime.
        self.config = replace(config, precision=self.pool.runtime.precision(config.precision))

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path = DEFAULT_MODEL,
        *,
        config: InferenceConfig | None = None,
        engine: EngineConfig | None = None,
        explain: bool = False,
    ) -> Binarizer:
        """Return a Binarizer for a preset's name, a model file, or a Hub id.

        The embedded model and exported `.onnx` files run without torch; files that training wrote need it. A Hub id
        is `owner/name`, or `owner/name@revision` with a branch, a tag or a commit's sha.
        """
        network, provenance, sha256 = load_model(model, engine)
        if not provenance.trained:
            warnings.warn(UNTRAINED.format(str(model)), UntrainedWarning, stacklevel=2)
        return cls(
            network, config=config, engine=engine, provenance=provenance, sha256=sha256, explain=explain
        )

    def with_watch(self, watch: WindowWatch) -> Binarizer:
        """Return a Binarizer that tells `watch` about every window; it shares everything else with this one."""
        other = copy.copy(self)
        other.watch, other._shared = watch, True
        return other

    def with_config(self, config: InferenceConfig) -> Binarizer:
        """Return a Binarizer with other settings that shares this one's network and threads.

        Only the first one stops the threads; closing the one that is returned does nothing.
        """
        return Binarizer(
            self.pool,
            config=config,
            provenance=self.provenance,
            sha256=self.sha256,
            explain=self.explain,
        )

    def keeping(self, keep: MarksKept) -> Binarizer:
        """Return a Binarizer with another choice of marks, or this one if its model has not learned that choice."""
        try:
            return self.with_config(replace(self.config, keep=keep))
        except CheckpointError:
            return self

    def wanted(self) -> bool:
        """Whether somebody still wants the page in progress; if not, no further window is run."""
        return True

    def check(self, config: InferenceConfig) -> None:
        """Raise if the network cannot be run with these settings."""
        self.pool.runtime.precision(config.precision)
        knows = KEPT[config.keep] in self.pool.runtime.conventions
        if config.keep != "text" and not knows and not (config.witness and config.restore):
            raise CheckpointError(
                f"this model knows text only and cannot be asked for --keep {config.keep} without the witness and "
                "restoring; leave --no-witness and --no-restore out, or use a model that was trained for both"
            )

    @overload
    def __call__(self, page: Source, **settings: Any) -> BinarizedPage: ...
    @overload
    def __call__(self, page: list[Any] | tuple[Any, ...], **settings: Any) -> list[BinarizedPage]: ...
    @overload
    def __call__(self, page: Iterator[Any], **settings: Any) -> Iterator[BinarizedPage]: ...
    def __call__(
        self, page: Any, **settings: Any
    ) -> BinarizedPage | list[BinarizedPage] | Iterator[BinarizedPage]:
        """Binarize one page, a list of pages, or the pages that a generator yields.

        The settings are those of InferenceConfig and hold for this call only: `binarizer(page, threshold=0.4)`.
        """
        if isinstance(page, list | tuple):
            return [self(one, **settings) for one in page]
        if isinstance(page, Iterator):
            return (self(one, **settings) for one in page)
        config = replace_values(self.config, settings)
        if not isinstance(page, str | Path):
            return self._one(page if isinstance(page, PageSource) else as_page_source(page), config)
        found = None
        for source in open_pages(page):
            if found is not None:
                raise InputError(f"{page} holds several pages; use `for p in binarizer.pages({str(page)!r})`")
            found = self._one(source, config)
        if found is None:
            raise InputError(f"{page} holds no page")
        return found

    def pages(self, path: str | Path, **settings: Any) -> Iterator[BinarizedPage]:
        """Binarize every page of a file, such as a PDF or a multi-page TIFF, one after the other."""
        config = replace_values(self.config, settings)
        return (self._one(source, config) for source in open_pages(path))

    def _one(self, source: PageSource, config: InferenceConfig) -> BinarizedPage:
        source = cached(source, int(self.pool.config.max_memory * CACHE_SHARE))
        if not self.explain:
            return self.binarize(source, config)
        from drmamba.inference.explain import Exploration

        return Exploration(self, source, config).explained()

    def binarize(
        self,
        source: PageSource,
        config: InferenceConfig | None = None,
        keep: Keep = "probability",
        *,
        analysis: PageAnalysis | None = None,
        view: PageView | None = None,
        predict: Predict | None = None,
    ) -> BinarizedPage:
        """Binarize one page; `keep` says what remains beside the bitmap.

        `analysis` and `view` may be given if they are known already; `predict` replaces the network, and then there
        is no second look.
        """
        config = config or self.config
        analysis = analysis or analyse_page(source)
        view = view or self.view(source, analysis, config)
        margins = analysis.margins if config.margins else None
        counter, bitmap = QualityCounter(config.threshold), Bitmap(source.height, source.width, source.dpi)
        shape = (source.height, source.width)
        kept = np.empty(shape, np.float32) if keep == "probability" else None
        grey = np.empty(shape, np.uint8) if keep == "grey" else None
        for band in self.bands(source, config, view, predict):
            found = band.probability
            if margins is not None:
                mask = _enlarged(margins, analysis.reduction, band, source.width)
                found = np.where(mask, np.float32(0), found)
            bitmap.put(band.top, found > config.threshold)
            counter.add(found)
            if kept is not None:
                kept[band.top : band.top + len(found)] = found
            if grey is not None:
                grey[band.top : band.top + len(found)] = to_grey(found)
        if config.despeckle and analysis.strokes:  # without strokes, nothing says how large a speck is
            remove_specks(bitmap, SpeckSize.of_strokes(analysis.strokes.width))
        draft = Draft(bitmap, kept, grey)
        assessment = assess(self, source, config, analysis, view, draft, look=predict is None)
        if assessment.changed:
            counter.ink = bitmap.count()
        quality = counter.judge(
            analysis,
            view,
            margins=margins is not None,
            trained=self.provenance.trained,
            assessment=assessment,
        )
        return BinarizedPage(bitmap, quality, kept, grey, layers=assessment.layers)

    def view(self, source: PageSource, analysis: PageAnalysis, config: InferenceConfig) -> PageView:
        """Return how the network is to see a page."""
        return choose_view(source, analysis, config, self._predict(config), self.pool.runtime.model)

    def bands(
        self, source: PageSource, config: InferenceConfig, view: PageView, predict: Predict | None = None
    ) -> Iterator[Band]:
        """Return the page's probability, or what `predict` gives in its place, at the page's own size."""
        seen = view.transform(source)
        if predict is None:
            predict = (
                each(_black) if view.bilevel else self._predict(config, self.context(source, config, view))
            )
        if self.watch is not None:
            predict = watched(predict, len(places(seen.height, seen.width, config.windows)), self.watch)
        return view.restore(bands(seen, view.transform_windows(predict), config.windows), seen, source)

    def context(self, source: PageSource, config: InferenceConfig, view: PageView) -> WindowContext:
        """Return what the network knows about the whole page when it sees a window."""
        if not config.context:
            return WindowContext()
        return page_context(view.transform(source), view, config.windows, self.pool)

    def _predict(self, config: InferenceConfig, context: WindowContext | None = None) -> Predict:
        context = context or WindowContext()
        return self.pool.predict(
            suppress=config.suppress,
            min_contrast=config.min_contrast,
            precision=config.precision,
            convention=self.pool.runtime.convention(config.keep),
            page=context.features,
            places=context.places,
            wanted=self.wanted,
        )

    def close(self) -> None:
        """Stop the network's threads, unless they belong to another Binarizer."""
        if not self._shared:
            self.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _black(window: RGB) -> Probability:
    """Return the ink of a page that is black and white already."""
    return (window[:, :, 0] < 128).astype(np.float32)


def _enlarged(margins: NDArray[np.bool_], reduction: int, band: Band, width: int) -> NDArray[np.bool_]:
    """Return the overview's mask at the size of a band."""
    rows = np.arange(band.top, band.top + len(band.probability)) // reduction
    return np.repeat(margins[rows], reduction, axis=1)[:, :width]
