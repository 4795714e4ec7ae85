"""How the network sees a page: inverted, rotated, scaled, with more contrast or noise, and the way back to the page.

The network has learned from scans of paper: their lines are level, their strokes are a few pixels wide, their paper
has noise, their ink is not quite black and their paper not quite white. A page that differs is shown to the network as
such a scan would look; the results return at the page's own size and place.

On a page that is cleaner than any paper a network that has not learned from such pages loses most of the bold print, so
noise is added for it. If, in addition, the paper has no noise at all and hardly any pixel lies between paper and ink,
then everything as dark as ink is ink: headlines, rules and bullets, which such a network has learned to ignore. (Scraps
that lie on a white ground also have paper without noise around them, but many pixels in between.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import tee

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.config import InferenceConfig, ModelConfig
from drmamba.images import RGB, ArraySource, PageSource
from drmamba.inference.analysis import PageAnalysis
from drmamba.inference.analysis.contrast import contrast
from drmamba.inference.analysis.filters import gaussian
from drmamba.inference.analysis.strokes import Strokes
from drmamba.inference.analysis.tones import Tones
from drmamba.inference.tiling import Band, Predict, Probability, WindowPlace

# Pages with strokes narrower than this share of the width that a model asks for are enlarged to that width.
NARROWEST = 0.6
# Pixels; pages with strokes wider than WIDEST are reduced to BROAD. docs/performance.md has the figures of
# benchmarks/resolution.py.
BROAD, WIDEST = 8.0, 11.0
LARGEST_ZOOM = 3.0  # times; no page is enlarged further
LARGEST_PAGE = 16_000_000  # pixels; no page is enlarged beyond this size, which would take too much time
LARGEST_GAIN = 5.0  # times; no page is shown with more contrast than this
RESAMPLING = Image.Resampling.BICUBIC
REACH = 3  # source pixels at scale 1; a resampled pixel depends on no source pixel further away

LEVEL_SCORE = 0.5  # orientation score; lines are level from this on and seem rotated below its negative
TRIAL_SIDE = 256  # pixels; the network sees no more of a tile, however much the page is enlarged
ROTATED_INK_RATIO = 1.25  # rotate if rotated tiles yield this many times more ink; the inverse if lines agree

CLEAN_NOISE = 0.015  # of the contrast; the paper of a scan has more noise than this
SPOTLESS_NOISE = 0.004  # of the contrast; below it the page was not scanned from paper
ADDED_NOISE = 0.024  # of the contrast; the noise that a clean page is given
INK_TOLERANCE = 0.2  # of the contrast; on a spotless page, pixels up to so much lighter than ink are ink
MAX_BETWEEN = 1.0  # pixels between ink and paper for each dark one; a spotless page has them at edges only
SCAN_BLACK = 30.0  # grey level; what black becomes on a clean page
SCAN_CONTRAST = 2 / 3  # of the page's contrast; what is left of it on a clean page
NOISE_WIDTH = 0.8  # pixels; the standard deviation of the blur that makes the noise soft
PATTERN_SIDE = 512  # pixels; the noise pattern repeats after this many
BLANK_CONTRAST = InferenceConfig().min_contrast  # grey levels; a window with less is blank and stays so


@dataclass(frozen=True)
class PageView:
    """How the network sees a page; the default is to see it as it is."""

    scale: float = 1.0
    inverted: bool = False  # whether light and dark are exchanged
    rotated: bool = False  # whether windows are rotated by 90 degrees
    noise: float = 0.0  # standard deviation of the added noise, in grey levels
    solid_ink: float = 0.0  # grey level; everything darker is ink, whatever the network says
    bilevel: bool = False  # whether the page is black and white already, so that the network is not asked
    gain: float = 1.0  # factor of the contrast
    paper: float = 0.0  # grey level of the paper, which keeps its brightness when the contrast changes

    def transform(self, source: PageSource) -> PageSource:
        """Return the page as it is cut into windows: inverted, with more contrast, and scaled."""
        seen: PageSource = InvertedSource(source) if self.inverted else source
        seen = seen if self.gain == 1 else StretchedSource(seen, self.gain, self.paper)
        return seen if self.scale == 1 else ScaledSource(seen, self.scale)

    def transform_windows(self, predict: Predict) -> Predict:
        """Return a prediction whose network sees windows with noise and rotated; its results are rotated back."""
        if self.noise:
            predict = with_noise(predict, self.noise, self.solid_ink)
        return with_rotation(predict) if self.rotated else predict

    def transform_overview(
        self, overview: RGB, windows: Sequence[WindowPlace], reduction: int
    ) -> tuple[RGB, list[tuple[int, int]]]:
        """Return the reduced page as the network sees the windows, and the top and left of each window on it.

        The overview shows the page after `transform`. A reduced page does not show noise, so only its tones change.
        """
        if self.noise:
            overview = np.clip(SCAN_BLACK + SCAN_CONTRAST * overview, 0, 255).astype(np.uint8)
        if not self.rotated:
            return overview, [(top, left) for top, left, _, _ in windows]
        # Places count from the rotated overview's edge, so that no pixel of it lies between two.
        rotated = np.ascontiguousarray(np.rot90(overview))
        right = rotated.shape[0] * reduction
        return rotated, [(right - left - width, top) for top, left, _, width in windows]

    def restore(self, bands: Iterator[Band], seen: PageSource, page: PageSource) -> Iterator[Band]:
        """Return the bands of the page as it was seen at the page's own size."""
        return bands if self.scale == 1 else restored(bands, seen.height, page.height, page.width)


def choose_view(
    source: PageSource,
    analysis: PageAnalysis,
    config: InferenceConfig,
    predict: Predict,
    model: ModelConfig,
) -> PageView:
    """Return how the network is to see a page; `predict` is asked if the page does not show which way is up.

    The model's settings say how wide it wants much narrower strokes, how dark it wants pale ink, and whether it has to
    be shown noise on clean pages.
    """
    inverted = config.invert and analysis.inverted
    if config.keep_bilevel and analysis.bilevel:
        return PageView(inverted=inverted, bilevel=True)
    scale = (
        fitting_scale(analysis.strokes, source, model.stroke_width)
        if config.scale == "auto"
        else config.scale
    )
    gain = fitting_gain(analysis.tones, model.ink_contrast) if config.auto_contrast else 1.0
    tones = analysis.tones.stretched(gain)
    needs_noise = config.add_noise and not model.clean_pages
    noise = added_noise(tones) if needs_noise else 0.0
    solid_ink = solid_ink_level(tones) if needs_noise else 0.0
    tiles: Sequence[RGB] = [~tile for tile in analysis.tiles] if inverted else analysis.tiles
    if gain != 1:
        tiles = [stretched(tile, gain, tones.paper) for tile in tiles]
    seen = with_noise(predict, noise) if noise else predict
    rotated = config.auto_rotate and is_rotated(analysis.orientation, tiles, scale, seen)
    return PageView(scale, inverted, rotated, noise, solid_ink, gain=gain, paper=tones.paper)


# Rotation


def is_rotated(orientation: float, tiles: Sequence[RGB], scale: float, predict: Predict) -> bool:
    """Return whether lines run up or down, by the orientation score and by the ink found on tiles, both ways."""
    if orientation >= LEVEL_SCORE:
        return False
    side = max(1, round(TRIAL_SIDE / max(1.0, scale)))
    seen = [ScaledSource(ArraySource(busiest(tile, side)), scale).read() for tile in tiles]
    level = sum(_ink(predict, tile) for tile in seen)
    rotated = sum(_ink(predict, np.rot90(tile)) for tile in seen)
    return rotated > level * (ROTATED_INK_RATIO if orientation > -LEVEL_SCORE else 1 / ROTATED_INK_RATIO)


def busiest(tile: RGB, side: int) -> RGB:
    """Return the square of a tile where most changes from pixel to pixel; an enlarged tile would cost too much."""
    if max(tile.shape[:2]) <= side:
        return tile
    levels = tile.mean(2, dtype=np.float32)
    steps = np.zeros_like(levels)
    steps[1:] += np.abs(np.diff(levels, axis=0))
    steps[:, 1:] += np.abs(np.diff(levels, axis=1))
    tops, lefts = (
        sorted({*range(0, max(1, length - side), max(1, side // 2)), max(0, length - side)})
        for length in levels.shape
    )
    top, left = max(
        ((top, left) for top in tops for left in lefts),
        key=lambda corner: steps[corner[0] : corner[0] + side, corner[1] : corner[1] + side].sum(),
    )
    return np.ascontiguousarray(tile[top : top + side, left : left + side])


def _ink(predict: Predict, tile: RGB) -> int:
    return int(np.count_nonzero(next(predict(iter([tile]))) > 0.5))


def with_rotation(predict: Predict) -> Predict:
    """Return a prediction that sees its windows rotated by 90 degrees and rotates its results back."""

    def stream(windows: Iterator[RGB]) -> Iterator[Probability]:
        for found in predict(np.rot90(window) for window in windows):
            yield np.rot90(found, -1)

    return stream


# Noise


def added_noise(tones: Tones) -> float:
    """Return the noise to add before inference, in grey levels; 0 for a page that has noise of its own."""
    clean = tones.noise < CLEAN_NOISE * tones.contrast
    return ADDED_NOISE * SCAN_CONTRAST * tones.contrast if clean else 0.0


def solid_ink_level(tones: Tones) -> float:
    """Return the grey level below which everything is ink; 0 if only the network can tell."""
    spotless = tones.noise < SPOTLESS_NOISE * tones.contrast and tones.between <= MAX_BETWEEN
    return tones.ink + INK_TOLERANCE * tones.contrast if spotless else 0.0


def with_noise(predict: Predict, noise: float, solid_ink: float = 0.0) -> Predict:
    """Return a prediction that sees its windows as a scan with noise; what is darker than `solid_ink` is ink."""

    def stream(windows: Iterator[RGB]) -> Iterator[Probability]:
        windows, seen = tee(windows)
        for found, window in zip(predict(_as_scan(w, noise) for w in seen), windows, strict=False):
            yield np.where(window.mean(2) < solid_ink, np.float32(1), found) if solid_ink else found

    return stream


def _as_scan(window: RGB, noise: float) -> RGB:
    if contrast(window) < BLANK_CONTRAST:
        return window
    height, width = window.shape[:2]
    pattern = _noise_pattern()[np.arange(height) % PATTERN_SIDE][:, np.arange(width) % PATTERN_SIDE, None]
    return np.clip(SCAN_BLACK + SCAN_CONTRAST * window + noise * pattern, 0, 255).astype(np.uint8)


@cache
def _noise_pattern() -> NDArray[np.float32]:
    """Return soft noise with a standard deviation of 1 that repeats without a seam."""
    noise = np.random.default_rng(0).standard_normal((PATTERN_SIDE, PATTERN_SIDE), np.float32)
    soft = gaussian(noise, NOISE_WIDTH, mode="wrap")
    return np.asarray(soft / soft.std(), np.float32)


# Contrast


def fitting_gain(tones: Tones, ink_contrast: float) -> float:
    """Return the factor that gives ink the contrast that a model asks for; 1 if it has as much, or the page none.

    Where strokes are few, what fills most of the tiles is the noise of the paper. So the darkest tone must not get more
    than twice the contrast that is asked for, either.
    """
    wanted = 255 * ink_contrast
    if not 0 < tones.contrast < wanted:
        return 1.0
    darkest = max(tones.paper - tones.darkest, tones.contrast)
    return max(1.0, min(wanted / tones.contrast, 2 * wanted / darkest, LARGEST_GAIN))


def stretched(pixels: RGB, gain: float, paper: float) -> RGB:
    """Return pixels with so many times the contrast, in which the grey level `paper` stays as it is."""
    table = np.clip(np.rint(paper + gain * (np.arange(256) - paper)), 0, 255).astype(np.uint8)
    found: RGB = table[pixels]
    return found


class StretchedSource(PageSource):
    """A page with more contrast."""

    def __init__(self, source: PageSource, gain: float, paper: float) -> None:
        self._source, self._gain, self._paper = source, gain, paper
        self.height, self.width, self.dpi = source.height, source.width, source.dpi

    def rows(self, top: int, bottom: int) -> RGB:
        """Return the rows with more contrast."""
        return stretched(self._source.rows(top, bottom), self._gain, self._paper)


# Scale and polarity


def fitting_scale(
    strokes: Strokes | None, source: PageSource, stroke_width: float = ModelConfig.stroke_width
) -> float:
    """Return the scale that brings a page's strokes to a good width; 1 unless they are far off."""
    if strokes is None or NARROWEST * stroke_width <= strokes.width <= WIDEST:
        return 1.0
    if strokes.width > WIDEST:
        return BROAD / strokes.width
    return min(stroke_width / strokes.width, largest_zoom(source.height, source.width))


def largest_zoom(height: int, width: int) -> float:
    """Return how far a page of this size may be enlarged."""
    return max(1.0, min(LARGEST_ZOOM, math.sqrt(LARGEST_PAGE / (height * width))))


class ScaledSource(PageSource):
    """A page as if it had been scanned at another resolution."""

    def __init__(self, source: PageSource, scale: float) -> None:
        self._source = source
        self.height, self.width = (max(1, round(side * scale)) for side in (source.height, source.width))
        self._step = source.height / self.height  # source rows that a scaled row spans

    def rows(self, top: int, bottom: int) -> RGB:
        """Return rows resampled from the source rows around them: the same values as from the whole page."""
        low, high = top * self._step, bottom * self._step
        reach = REACH * max(1.0, self._step)
        first, last = max(0, math.floor(low - reach)), min(self._source.height, math.ceil(high + reach))
        band = Image.fromarray(self._source.rows(first, last))
        box = (0, low - first, self._source.width, min(high - first, last - first))
        return np.asarray(band.resize((self.width, bottom - top), RESAMPLING, box))


class InvertedSource(PageSource):
    """A white-on-black page as black on white."""

    def __init__(self, source: PageSource) -> None:
        self._source = source
        self.height, self.width, self.dpi = source.height, source.width, source.dpi

    def rows(self, top: int, bottom: int) -> RGB:
        """Return the negative of the rows."""
        return ~self._source.rows(top, bottom)


def restored(bands: Iterator[Band], scaled_height: int, height: int, width: int) -> Iterator[Band]:
    """Yield the bands of a scaled page at the size of the original."""
    step = scaled_height / height  # scaled rows that an original row spans
    reach = REACH * max(1.0, step)
    held, first, done = None, 0, 0
    for band in bands:
        held = band.probability if held is None else np.concatenate([held, band.probability])
        end = first + len(held)
        ready = height if end == scaled_height else max(done, math.floor((end - reach) / step))
        if ready == done:
            continue
        box = (0, done * step - first, held.shape[1], min(ready * step - first, len(held)))
        image = Image.fromarray(held).resize((width, ready - done), Image.Resampling.BILINEAR, box)
        yield Band(done, np.asarray(image))
        done = ready
        drop = max(0, math.floor(done * step - reach) - first)
        held, first = held[drop:], first + drop
