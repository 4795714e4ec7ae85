"""What a result misses and what it should not have, tile by tile, by comparing it with the structures of its page.

Bleed-through is paler than the page's own ink or softer, so only a few of its pixels are as dark as ink; of a lost
stroke most are. Shadows and stains have no sharp edge. Dark margins reach the edge of the page.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from drmamba.images.writing.bitmap import BITS_SET
from drmamba.inference.analysis.filters import Mask, labelled
from drmamba.inference.analysis.strokes import Grey
from drmamba.inference.witness.structures import (
    Level,
    Structures,
    enlarged,
    extreme,
    grown,
    highest,
    lowest,
    reduced,
)

Box = tuple[int, int, int, int]  # left, top, right, bottom, in pixels of the page

TILE = 48  # pixels of the reduced page; the side of the tiles in which both are compared
NEAR = 5  # pixels; the side of the square in which ink stands for a structure at its middle
NOISE_RATIO, LEAST_DARKNESS = 3.0, 12.0  # of the page's noise, and grey levels; less is no structure
STRUCTURE, AS_INK = (
    0.4,
    0.8,
)  # of the ink's darkness; a structure has the first, most of a lost stroke the second
SHARPNESS = 0.5  # of its darkness; a structure changes so much over two pixels at its edge
LOST_RATIO = 0.4  # of a tile's missing structures; in a tile with lost ink so many pixels are as dark as ink
LOST_PIXELS = 40  # pixels as dark as ink; a tile with fewer has lost nothing
WIDE_DARKNESS = 0.95  # of the ink's darkness; wide ink is darker than strokes, which are blurred
WIDE_SHARP_EDGE = 0.7  # of its edge; so much of a wide structure's edge is sharp, beside what was found of it
PANEL = 0.25  # of its darkness; ink that is so much darker than a dark ground is not part of it
WIDE_COVERED = 64  # of 255; a wide structure is found where so much of a pixel of its level is ink
LEAST_INK = 50  # pixels; the darkness of ink cannot be measured on fewer
LINE_LENGTH = 61  # pixels; straight structures of this length are rules, which may be paler than ink
BORDER = 25  # pixels; fine structures so near to the edge of the page are its own edge or a shadow of it
LOST_SHARE = 0.012  # of all ink, found and lost; with more, the page has lost content
CAUSELESS = 0.3  # of the ink's darkness; ink that is paler has no cause
LEAST_LOST = 2e-4  # of the page; less than this is not lost content, however little ink there is
DIRT_SHARE = 0.02  # of the ink found; with more ink without a cause, the page has kept dirt
DIRT_PIXELS = 40  # pixels; a tile with less ink without a cause has no dirt
MAX_WIDE = 400  # structures; a level with more of them is texture


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a result; masks have a pixel for each tile."""

    lost: float = 0.0  # share of all ink, found and lost, that is lost
    dirt: float = 0.0  # share of the ink found that has no cause
    lost_boxes: tuple[Box, ...] = ()
    dirt_boxes: tuple[Box, ...] = ()

    @property
    def has_lost(self) -> bool:
        """Whether so much is lost that a person should know."""
        return self.lost > LOST_SHARE

    @property
    def has_dirt(self) -> bool:
        """Whether so much dirt was kept that a person should know."""
        return self.dirt > DIRT_SHARE


@dataclass(frozen=True)
class WideStructure:
    """A structure of a coarse level that the result does not have, or part of one."""

    level: int
    mask: Mask  # what is missing, on its level
    whole: Mask  # the structure that it belongs to, on its level
    pixels: int  # pixels of the reduced page
    stroke_width: float  # pixels of the reduced page


@dataclass(frozen=True)
class Comparison:
    """Where structures and result differ, on the reduced page."""

    fine: Mask  # missing structures of the finest level, in tiles that have lost ink
    wide: tuple[WideStructure, ...]
    dirt: NDArray[np.int64]  # by tile: pixels of ink without a cause
    ink: int  # pixels found
    verdict: Verdict
    darkness: float = field(default=0.0)  # of the ink


class Witness:
    """A page's structures, ready to be compared with results; `reduction` is that of the grey page."""

    def __init__(
        self, grey: Grey, reduction: int, ignored: Mask | None = None, *, pale_rules: bool = False
    ) -> None:
        self.grey, self.reduction = grey, reduction
        self.structures = Structures.measure(grey)
        self._pale_rules = pale_rules  # whether rules that are paler than ink count, as on ruled paper
        self._ignored = ignored  # on the reduced page: margins and pictures, which are judged by others

    def compare(self, ink: Grey) -> Comparison:
        """Compare the page with a result, reduced in the same way; 255 is all ink."""
        finest = self.structures.levels[0]
        solid = ink > 127
        pixels = int(np.count_nonzero(solid))
        floor = max(NOISE_RATIO * self.structures.noise, LEAST_DARKNESS)
        darkness = self._ink_darkness(finest, solid, pixels)
        wide, margins = self._wide(ink, floor, darkness)
        ignored = margins if self._ignored is None else margins | self._ignored
        missing = _missing_fine(finest, ink, max(floor, STRUCTURE * darkness)) & ~ignored
        if min(ink.shape) > 10 * BORDER:
            missing[:BORDER] = missing[-BORDER:] = missing[:, :BORDER] = missing[:, -BORDER:] = False
        fine = _as_dark_as_ink(missing, finest.darkness > max(floor, AS_INK * darkness))
        if self._pale_rules:
            fine |= straight(missing)
        dirt = self._causeless(solid & ~ignored, max(LEAST_DARKNESS / 2, CAUSELESS * darkness))
        verdict = self._verdict(fine, wide, dirt, pixels)
        return Comparison(fine, wide, dirt, pixels, verdict, darkness)

    def _ink_darkness(self, finest: Level, solid: Mask, pixels: int) -> float:
        """Return how dark the page's ink is; where none was found, how dark its darkest structures are."""
        if pixels >= LEAST_INK:
            return float(np.median(finest.darkness[solid]))
        return float(np.percentile(finest.darkness, 99.5))

    def _wide(self, ink: Grey, floor: float, darkness: float) -> tuple[tuple[WideStructure, ...], Mask]:
        """Return the wide structures that are missing, and a mask of those at the edge of the page."""
        found: list[WideStructure] = []
        margins: Mask = np.zeros(ink.shape, np.bool_)
        for number, level in enumerate(self.structures.levels[1:], 1):
            kept = reduced(ink, level.zoom) > WIDE_COVERED
            dark = level.darkness > max(floor, WIDE_DARKNESS * darkness * 2 / 3)
            missing = dark & ~grown(kept, 3)
            names, count = labelled(missing)
            if not count:
                continue
            sharp = highest(level.slope, 3) > SHARPNESS * level.darkness
            sizes = np.bincount(names.ravel(), minlength=count + 1)
            edges, _ = _edges(names, count, missing, sharp)
            # Where a structure's outline was found and its middle was not, the edge between them is not sharp. Then
            # the edge of the whole structure has to be, and both have to be equally dark.
            outer, sharp_outer = _edges(names, count, missing, sharp, beside=grown(kept, 5))
            at_border = np.zeros(count + 1, np.bool_)
            for line in (names[0], names[-1], names[:, 0], names[:, -1]):
                at_border[line] = True
            at_border[0] = False
            if at_border.any():
                margins |= enlarged(grown(at_border[names], 5), level.zoom, ink.shape)
            clear = (sizes >= 9) & ~at_border & (sharp_outer >= WIDE_SHARP_EDGE * outer)
            clear[0] = False
            if count > MAX_WIDE or not clear.any():
                continue
            wholes, number_of_wholes = labelled(dark)
            of_whole, sharp_of_whole = _edges(wholes, number_of_wholes, dark, sharp)
            clear_whole = sharp_of_whole >= WIDE_SHARP_EDGE * of_whole
            for name in np.nonzero(clear)[0]:
                mask = names == name
                whole = wholes[mask][0]
                if 2 * outer[name] < edges[name] and not clear_whole[whole]:
                    continue
                if outer[name] < edges[name] and self._panel(ink, wholes == whole, mask, level):
                    continue
                if np.median(level.darkness[mask]) < WIDE_DARKNESS * darkness:
                    continue
                if self._ignored is not None and _mostly(self._ignored, mask, level.zoom):
                    continue
                pixels = int(sizes[name]) * level.zoom**2
                width = 2 * sizes[name] / max(1, edges[name]) * level.zoom
                found.append(WideStructure(number, mask, wholes == whole, pixels, float(width)))
        return tuple(found), margins

    def _panel(self, ink: Grey, whole: Mask, missing: Mask, level: Level) -> bool:
        """Return whether the missing part of a structure is the dark ground on which the ink that was found stands."""
        found = self.grey[enlarged(whole, level.zoom, ink.shape) & (ink > 127)]
        if not len(found):
            return False
        ground = self.grey[enlarged(missing, level.zoom, ink.shape)]
        least = PANEL * float(np.median(level.darkness[missing]))
        return float(np.median(ground)) - float(np.median(found)) > least

    def _causeless(self, ink: Mask, least: float) -> NDArray[np.int64]:
        """Return, by tile, how many pixels of ink are hardly darker than their surroundings."""
        caused = highest(self.structures.levels[0].darkness, NEAR) > least
        for level in self.structures.levels[1:]:
            caused |= enlarged(grown(level.darkness > least, 3), level.zoom, ink.shape)
        return by_tile(ink & ~caused)

    def _verdict(
        self, fine: Mask, wide: tuple[WideStructure, ...], dirt: NDArray[np.int64], pixels: int
    ) -> Verdict:
        lost_tiles = by_tile(fine) >= LOST_PIXELS // 2
        lost = int(np.count_nonzero(fine))
        for one in wide:
            lost += one.pixels
            place = enlarged(one.mask, self.structures.levels[one.level].zoom, fine.shape)
            lost_tiles |= by_tile(place) > 0
        if lost < LEAST_LOST * fine.size:
            lost, lost_tiles = 0, np.zeros_like(lost_tiles)
        dirty = dirt >= DIRT_PIXELS
        return Verdict(
            lost / max(1, pixels + lost),
            float(dirt[dirty].sum()) / max(1, pixels),
            self.boxes(lost_tiles),
            self.boxes(dirty),
        )

    def boxes(self, tiles: Mask) -> tuple[Box, ...]:
        """Return the boxes around tiles that lie together, in pixels of the page."""
        names, count = labelled(tiles)
        side, found = TILE * self.reduction, []
        for name in range(1, count + 1):
            rows, columns = np.nonzero(names == name)
            found.append(
                (
                    int(columns.min()) * side,
                    int(rows.min()) * side,
                    min((int(columns.max()) + 1) * side, self.grey.shape[1] * self.reduction),
                    min((int(rows.max()) + 1) * side, self.grey.shape[0] * self.reduction),
                )
            )
        return tuple(found)


def _edges(
    names: NDArray[np.intp], count: int, mask: Mask, sharp: Mask, beside: Mask | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each named part of a mask, the pixels of its edge and the sharp ones; those `beside` are left out."""
    edge = mask & ~lowest(mask.view(np.uint8), 3).view(np.bool_)
    if beside is not None:
        edge &= ~beside
    every, those = (np.bincount(names[where], minlength=count + 1) for where in (edge, edge & sharp))
    return every, those


def by_tile(mask: Mask) -> NDArray[np.int64]:
    """Return how many pixels of a mask each tile holds."""
    bits = np.packbits(mask, axis=1)  # a tile is a whole number of bytes wide, and bytes are counted faster
    height, width = (-(-side // tile) for side, tile in zip(bits.shape, (TILE, TILE // 8), strict=True))
    counts = np.zeros((height * TILE, width * (TILE // 8)), np.uint8)
    counts[: bits.shape[0], : bits.shape[1]] = BITS_SET[bits]
    found: NDArray[np.int64] = counts.reshape(height, TILE, width, TILE // 8).sum((1, 3), dtype=np.int64)
    return found


def _missing_fine(finest: Level, ink: Grey, least: float) -> Mask:
    """Return the sharp structures of the finest level that are not in the result."""
    missing: Mask = (finest.darkness > least) & (highest(ink, NEAR) <= WIDE_COVERED)
    return missing & (highest(finest.slope, NEAR) > finest.darkness // 2)


def _as_dark_as_ink(missing: Mask, dark: Mask) -> Mask:
    """Return what is missing in the tiles where most of that is as dark as ink."""
    counts = by_tile(missing & dark)
    lost = (counts >= LOST_PIXELS) & (counts >= LOST_RATIO * by_tile(missing))
    return np.asarray(missing & enlarged(lost, TILE, missing.shape), np.bool_)


def straight(mask: Mask) -> Mask:
    """Return the parts of a mask that run level or upright for the length of a rule; a small slant is allowed."""
    found: Mask = np.zeros_like(mask)
    for axis in (0, 1):
        thick = extreme(mask.view(np.uint8), 3, 1 - axis, np.maximum)
        lines = extreme(thick, LINE_LENGTH, axis, np.minimum)
        found |= mask & extreme(lines, LINE_LENGTH, axis, np.maximum).view(np.bool_)
    return found


def _mostly(ignored: Mask, mask: Mask, zoom: int) -> bool:
    """Return whether most of a structure lies where nothing is judged."""
    here = ignored[::zoom, ::zoom][: mask.shape[0], : mask.shape[1]]
    return bool(np.count_nonzero(here & mask[: here.shape[0], : here.shape[1]]) * 2 > np.count_nonzero(mask))
