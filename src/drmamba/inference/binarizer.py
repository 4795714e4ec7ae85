"""`Binarizer`: a page in, a black-and-white page out. The one door for programs, services and commands.

>>> import numpy as np
>>> from drmamba import Binarizer
>>> binarizer = Binarizer.from_pretrained()          # the embedded model; also a name, a file, a Hub id
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

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.checkpoint import Provenance
from drmamba.config import DEFAULT_MODEL, EngineConfig, InferenceConfig, replace_values
from drmamba.errors import InputError
from drmamba.files import write_atomic
from drmamba.images import (
    DPI,
    RGB,
    Bitmap,
    Ink,
    PageSource,
    as_page_source,
    encode_grey,
    open_pages,
    write_bitmap,
)
from drmamba.inference.direction import lies_sideways, turned
from drmamba.inference.grain import grained
from drmamba.inference.lanes import Lanes
from drmamba.inference.models import load_model
from drmamba.inference.page_context import Situation, situation
from drmamba.inference.quality import Quality, Tally, View
from drmamba.inference.rescale import InvertedRows, ScaledRows, fitting_scale, restored
from drmamba.inference.runtime import Runtime
from drmamba.inference.survey import Survey, survey
from drmamba.inference.tiling import Band, Predict, Probability, bands, each

if TYPE_CHECKING:
    from torch import nn

    from drmamba.inference.explain import Explanation

Source = str | Path | Image.Image | NDArray[Any] | PageSource
Keep = Literal["ink", "grey", "probability"]

UNTRAINED = "the model {!r} is UNTRAINED: its pages mean nothing; train it, or give a trained model file"


class UntrainedWarning(UserWarning):
    """The network has random weights: its results mean nothing."""


@dataclass(frozen=True)
class Page:
    """A binarized page."""

    bitmap: Bitmap
    quality: Quality
    kept: Probability | None = None
    grey: NDArray[np.uint8] | None = None  # in 256 steps, ink dark: a quarter of the memory
    explanation: Explanation | None = None  # the network's maps, if asked for

    @cached_property
    def binary(self) -> Ink:
        """(H, W) booleans, True = ink."""
        return self.bitmap.unpack()

    @property
    def probability(self) -> Probability:
        """(H, W) of ink, from 0 to 1."""
        if self.kept is None:
            raise InputError("this page was made without its probabilities; ask for keep='probability'")
        return self.kept

    @property
    def dpi(self) -> DPI | None:
        """Horizontal and vertical resolution, if the source stated one."""
        return self.bitmap.dpi

    def save(self, path: str | Path) -> None:
        """Write a 1-bit PNG, TIFF or PDF, by the name's ending; the resolution is kept."""
        write_bitmap(path, self.bitmap)

    def save_soft(self, path: str | Path) -> None:
        """Write the probability as an 8-bit PNG, ink dark."""
        write_atomic(path, self.encode_soft())

    def encode_soft(self, record: str = "") -> bytes:
        """The probability as the bytes of an 8-bit PNG, ink dark."""
        grey = self.grey
        if grey is None:
            grey = to_grey(self.probability)
        return encode_grey(grey, self.dpi, record)


class Binarizer:
    """A network with its settings, ready for pages; close it, or use it in a `with`, to free its threads."""

    def __init__(
        self,
        network: nn.Module | Runtime,
        *,
        config: InferenceConfig | None = None,
        engine: EngineConfig | None = None,
        provenance: Provenance | None = None,
        sha256: str = "",
        explain: bool = False,
    ) -> None:
        self.config = config or InferenceConfig()
        self.explain = explain  # every page comes with the maps that led to it
        self.provenance = provenance or Provenance()
        self.sha256 = sha256  # of the model file
        self.lanes = Lanes(network, engine)
        self.lanes.runtime.check(self.config.precision)
        self.lanes.runtime.convention(self.config.keep)  # raises before any page is opened

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path = DEFAULT_MODEL,
        *,
        config: InferenceConfig | None = None,
        engine: EngineConfig | None = None,
        explain: bool = False,
    ) -> Binarizer:
        """A Binarizer for a preset's name, a model file, or a Hub id.

        A file is one that training wrote, or an exported `.onnx`, which runs without torch. A Hub id is
        `owner/name`, or `owner/name@revision` with a branch, a tag or a commit's sha.
        """
        network, provenance, sha256 = load_model(model, engine)
        if not provenance.trained:
            warnings.warn(UNTRAINED.format(str(model)), UntrainedWarning, stacklevel=2)
        return cls(
            network, config=config, engine=engine, provenance=provenance, sha256=sha256, explain=explain
        )

    @overload
    def __call__(self, page: Source, **settings: Any) -> Page: ...
    @overload
    def __call__(self, page: list[Any] | tuple[Any, ...], **settings: Any) -> list[Page]: ...
    @overload
    def __call__(self, page: Iterator[Any], **settings: Any) -> Iterator[Page]: ...
    def __call__(self, page: Any, **settings: Any) -> Page | list[Page] | Iterator[Page]:
        """Binarize one page, a list of pages, or pages as a generator gives them.

        Settings are those of InferenceConfig, for this call only: `binarizer(page, threshold=0.4)`.
        """
        if isinstance(page, list | tuple):
            return [self(one, **settings) for one in page]
        if isinstance(page, Iterator):
            return (self(one, **settings) for one in page)
        config = replace_values(self.config, settings)
        if not isinstance(page, str | Path):
            return self._one(page if isinstance(page, PageSource) else as_page_source(page), config)
        found = None
        for rows in open_pages(page):
            if found is not None:
                raise InputError(f"{page} holds several pages; use `for p in binarizer.pages({str(page)!r})`")
            found = self._one(rows, config)
        if found is None:
            raise InputError(f"{page} holds no page")
        return found

    def pages(self, path: str | Path, **settings: Any) -> Iterator[Page]:
        """Every page of a file, one after the other; for PDF and multi-page TIFF."""
        config = replace_values(self.config, settings)
        return (self._one(rows, config) for rows in open_pages(path))

    def _one(self, rows: PageSource, config: InferenceConfig) -> Page:
        if not self.explain:
            return self.binarize(rows, config)
        from drmamba.inference.explain import Exploration

        return Exploration(self, rows, config).explained()

    def binarize(
        self,
        rows: PageSource,
        config: InferenceConfig | None = None,
        keep: Keep = "probability",
        *,
        looked: Survey | None = None,
        view: View | None = None,
        predict: Predict | None = None,
    ) -> Page:
        """Binarize one page given as rows; `keep` says what remains beside the bitmap.

        `looked` is the page's survey and `view` how the network sees it, if they are known already; `predict`
        takes the network's place.
        """
        config = config or self.config
        looked = looked or survey(rows)
        view = view or self.view(rows, looked, config)
        margins = looked.margins if config.margins else None
        tally, bitmap = Tally(config.threshold), Bitmap(rows.height, rows.width, rows.dpi)
        shape = (rows.height, rows.width)
        kept = np.empty(shape, np.float32) if keep == "probability" else None
        grey = np.empty(shape, np.uint8) if keep == "grey" else None
        for band in self.bands(rows, config, view, predict):
            found = band.probability
            if margins is not None:
                found = np.where(_under(margins, looked, band, rows.width), np.float32(0), found)
            bitmap.put(band.top, found > config.threshold)
            tally.add(found)
            if kept is not None:
                kept[band.top : band.top + len(found)] = found
            if grey is not None:
                grey[band.top : band.top + len(found)] = to_grey(found)
        trained = self.provenance.trained
        quality = tally.judge(looked, view, margins=margins is not None, trained=trained)
        return Page(bitmap, quality, kept, grey)

    def view(self, rows: PageSource, looked: Survey, config: InferenceConfig) -> View:
        """How the network is to see a page; where the page leaves it open which way up, the network says."""
        inverted = config.invert and looked.inverted
        if config.as_is and looked.bilevel:
            return View(inverted=inverted, bilevel=True)
        scale = fitting_scale(looked.strokes, rows) if config.scale == "auto" else config.scale
        grain, solid = (looked.tones.grain, looked.tones.solid) if config.grain else (0.0, 0.0)
        tiles = [~tile for tile in looked.tiles] if inverted else looked.tiles
        predict = grained(self._predict(config), grain) if grain else self._predict(config)
        sideways = config.turn and lies_sideways(looked.lean, tiles, scale, predict)
        return View(scale, inverted, sideways, grain, solid)

    def bands(
        self, rows: PageSource, config: InferenceConfig, view: View, predict: Predict | None = None
    ) -> Iterator[Band]:
        """The page's probability, or what `predict` gives in its place, at the page's own size."""
        source = self.seen(rows, view)
        if view.bilevel:
            predict = predict or each(_black)
        predict = predict or self._predict(config, self.situation(rows, config, view))
        if view.grain:
            predict = grained(predict, view.grain, view.solid)
        if view.sideways:
            predict = turned(predict)
        found = bands(source, predict, config.windows)
        return found if view.scale == 1 else restored(found, source.height, rows.height, rows.width)

    def seen(self, rows: PageSource, view: View) -> PageSource:
        """The page as it is tiled: turned round and scaled."""
        source: PageSource = InvertedRows(rows) if view.inverted else rows
        return source if view.scale == 1 else ScaledRows(source, view.scale)

    def situation(self, rows: PageSource, config: InferenceConfig, view: View) -> Situation:
        """What the network is to know of the page when it sees its windows."""
        if not config.context:
            return Situation()
        return situation(self.seen(rows, view), view, config.windows, self.lanes)

    def _predict(self, config: InferenceConfig, known: Situation | None = None) -> Predict:
        known = known or Situation()
        return self.lanes.predict(
            suppress=config.suppress,
            min_contrast=config.min_contrast,
            precision=config.precision,
            convention=self.lanes.runtime.convention(config.keep),
            page=known.page,
            places=known.places,
        )

    def close(self) -> None:
        """Stop the network's threads."""
        self.lanes.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _black(window: RGB) -> Probability:
    """What a black-and-white page says by itself."""
    return (window[:, :, 0] < 128).astype(np.float32)


def to_grey(probability: Probability) -> NDArray[np.uint8]:
    """Probabilities in 256 steps, as one would see them: ink is dark."""
    return ((1 - probability) * 255 + 0.5).astype(np.uint8)


def _under(margins: NDArray[np.bool_], looked: Survey, band: Band, width: int) -> NDArray[np.bool_]:
    """The overview's mask at the size of a band."""
    rows = np.arange(band.top, band.top + len(band.probability)) // looked.reduced
    return np.repeat(margins[rows], looked.reduced, axis=1)[:, :width]
