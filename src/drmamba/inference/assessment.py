"""A finished page is assessed, and improved where that is certain: pictures, the witness, a second look, restoring."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from drmamba.config import InferenceConfig
from drmamba.images import Bitmap, GreyLayer, PageSource
from drmamba.inference.analysis import PageAnalysis
from drmamba.inference.analysis.filters import Mask
from drmamba.inference.analysis.strokes import Grey
from drmamba.inference.pictures import Picture, find_pictures, grey_layers, render
from drmamba.inference.restoring import restored, threshold_map
from drmamba.inference.second_look import look_again, plan_looks
from drmamba.inference.tiling import Band, Probability, to_grey
from drmamba.inference.view import PageView
from drmamba.inference.witness import Comparison, Verdict, Witness

if TYPE_CHECKING:
    from drmamba.inference.binarizer import Binarizer

BAND_ROWS = 512  # rows; a bitmap is reduced so many at a time
RESTORED_SHARE = 0.004  # of all ink; with less of it missing, nothing is restored


@dataclass
class Draft:
    """A result that may still change."""

    bitmap: Bitmap
    probability: Probability | None = None
    grey: Grey | None = None  # the probability in 256 steps, ink dark

    def add(self, band: Band, threshold: float) -> None:
        """Add what was found in some rows to what is there."""
        rows = slice(band.top, band.top + len(band.probability))
        self.bitmap.bits[rows] |= np.packbits(band.probability > threshold, axis=1)
        if self.probability is not None:
            np.maximum(self.probability[rows], band.probability, out=self.probability[rows])
        if self.grey is not None:
            np.minimum(self.grey[rows], to_grey(band.probability), out=self.grey[rows])

    def reduced(self, reduction: int) -> Grey:
        """Return the ink reduced as the analysis reduces a page; 255 is all ink."""
        step, parts = BAND_ROWS * reduction, []
        for top in range(0, self.bitmap.height, step):
            bits = np.unpackbits(self.bitmap.bits[top : top + step], axis=1, count=self.bitmap.width)
            parts.append(np.asarray(Image.fromarray(bits * np.uint8(255)).reduce(reduction)))
        return np.concatenate(parts)


@dataclass(frozen=True)
class Assessment:
    """What is known about a result beside its pixels."""

    verdict: Verdict = field(default_factory=Verdict)
    pictures: tuple[Picture, ...] = ()
    layers: tuple[GreyLayer, ...] = ()  # the pictures, if they are kept in grey
    second_look: bool = False
    restored: bool = False

    @property
    def changed(self) -> bool:
        """Whether the result is no longer what the network found at first."""
        return bool(self.pictures) or self.second_look or self.restored


def assess(
    binarizer: Binarizer,
    source: PageSource,
    config: InferenceConfig,
    analysis: PageAnalysis,
    view: PageView,
    draft: Draft,
    *,
    look: bool = True,
) -> Assessment:
    """Assess a result and improve it; `look` says whether the network may be asked again."""
    if analysis.grey is None or view.bilevel or not (config.witness or config.find_pictures):
        return Assessment()
    grey, reduction = 255 - analysis.grey if view.inverted else analysis.grey, analysis.grey_reduction
    ink = draft.reduced(reduction)
    pictures = (
        find_pictures(grey, ink, reduction, source.height, source.width) if config.find_pictures else ()
    )
    verdict, seen_again, changed = Verdict(), False, False
    if config.witness:
        ignored = ignored_areas(analysis, pictures, grey.shape)
        witness = Witness(grey, reduction, ignored, pale_rules=config.keep == "all")
        comparison = witness.compare(ink)
        if look and config.second_look and comparison.verdict.has_lost:
            seen_again = _look_again(binarizer, source, config, view, draft, witness, comparison)
            if seen_again:
                comparison = witness.compare(draft.reduced(reduction))
        if config.restore and config.keep == "all" and comparison.verdict.lost > RESTORED_SHARE:
            changed = _restore(source, view, draft, witness, comparison)
            comparison = witness.compare(draft.reduced(reduction))
        verdict = comparison.verdict
    for picture in pictures:
        _put_picture(source, config, view, draft, picture)
    layers = grey_layers(source, pictures, inverted=view.inverted) if config.pictures == "grey" else ()
    return Assessment(verdict, pictures, layers, seen_again, changed)


def ignored_areas(
    analysis: PageAnalysis, pictures: tuple[Picture, ...], shape: tuple[int, ...]
) -> Mask | None:
    """Return where the witness does not look, on the reduced page: dark margins and pictures."""
    if analysis.margins is None and not pictures:
        return None
    found: Mask = np.zeros(shape, np.bool_)
    if analysis.margins is not None:
        rows, columns = (
            np.minimum(np.arange(side) * analysis.grey_reduction // analysis.reduction, size - 1)
            for side, size in zip(shape, analysis.margins.shape, strict=True)
        )
        found |= analysis.margins[rows][:, columns]
    for picture in pictures:
        left, top, right, bottom = (side // analysis.grey_reduction for side in picture.box)
        found[top : bottom + 1, left : right + 1] = True
    return found


def _look_again(
    binarizer: Binarizer,
    source: PageSource,
    config: InferenceConfig,
    view: PageView,
    draft: Draft,
    witness: Witness,
    comparison: Comparison,
) -> bool:
    """Let the network see again what is missing; return whether it did."""
    stroke_width = binarizer.pool.runtime.model.stroke_width
    looks = plan_looks(source, config, view, witness, comparison, stroke_width)
    for one in looks:
        for band in look_again(binarizer, source, config, one, witness.reduction):
            draft.add(band, config.threshold)
    return bool(looks)


def _restore(
    source: PageSource, view: PageView, draft: Draft, witness: Witness, comparison: Comparison
) -> bool:
    """Take what is missing from the page; return whether anything was."""
    thresholds = threshold_map(witness, comparison)
    if not thresholds.any():
        return False
    for top, ink in restored(source, thresholds, witness.reduction, inverted=view.inverted):
        draft.add(Band(top, ink.astype(np.float32)), 0.5)
    return True


def _put_picture(
    source: PageSource, config: InferenceConfig, view: PageView, draft: Draft, picture: Picture
) -> None:
    """Replace what the network found in a picture by the picture."""
    for top, mask, ink in render(source, picture, config.pictures, inverted=view.inverted):
        rows = slice(top, top + len(mask))
        columns = slice(picture.left, picture.right)
        whole = np.unpackbits(draft.bitmap.bits[rows], axis=1, count=draft.bitmap.width).astype(np.bool_)
        whole[:, columns] = np.where(mask, ink, whole[:, columns])
        draft.bitmap.put(top, whole)
