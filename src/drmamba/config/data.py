"""The settings of the pages that a network is trained on."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal, get_args

from drmamba.config.base import Config

SYNTHETIC = "synthetic"  # name of the set of synthetic pages, given instead of a folder of years


@dataclass(frozen=True, kw_only=True)
class DegradeConfig(Config):
    """The probability of each degradation, and of leaving a crop unchanged."""

    untouched: float = 0.1
    new_paper: float = 0.15
    recoloured: float = 0.15
    faint: float = 0.3
    washed_out: float = 0.0  # ink is lost in patches; never together with bleed-through
    rulings: float = 0.08
    bleed_through: float = 0.4
    foxing: float = 0.1
    stain: float = 0.2
    blots: float = 0.1
    folds: float = 0.1
    holes: float = 0.06
    erased: float = 0.06
    margin: float = 0.06
    illumination: float = 0.35
    snapshot: float = 0.08  # a photograph taken by hand, with shading, cast shadows and glare
    out_of_focus: float = 0.15
    defocus: float = 0.1
    contrast: float = 0.35
    colour: float = 0.3
    grain: float = 0.25
    microfilm: float = 0.05
    photocopy: float = 0.05
    grey: float = 0.15
    jpeg: float = 0.2
    # All ink of the page is pale, as in one spectral band. The other degradations are as frequent as without it.
    pale: float = 0.0
    blank_side: float = 0.0  # the page gives way to a blank side, through which the other side is seen
    clean: float = 0.03  # a page drawn by a program: white paper, even ink, and no other degradation

    def __post_init__(self) -> None:
        super().__post_init__()
        for item in fields(self):
            self.require(item.name, 0 <= getattr(self, item.name) <= 1, "a probability from 0 to 1")


# Kinds of synthetic pages; the comments in SyntheticConfig describe them.
PageKind = Literal[
    "print",
    "script",
    "pen",
    "papyrus",
    "newspaper",
    "title",
    "table",
    "drawing",
    "woodcut",
    "form",
    "ledger",
    "sparse",
    "calligraphy",
    "music",
    "map",
    "ornament",
    "directions",
    "pencil",
    "typescript",
    "bands",
    "halftone",
    "photograph",
]
PAGE_KINDS: tuple[PageKind, ...] = get_args(PageKind)


@dataclass(frozen=True, kw_only=True)
class SyntheticConfig(Config):
    """Synthetic pages: the relative frequency of each kind, the fonts, and the degradations."""

    print: float = 1.0  # typeset text
    script: float = 1.0  # text in fonts that imitate handwriting
    pen: float = 1.2  # pen strokes that form no letters
    papyrus: float = 0.4  # capital letters on dark fibres
    newspaper: float = 0.6  # headlines, columns of small print, and rules
    title: float = 0.4  # a huge title above tiny print
    table: float = 0.5  # words and figures between rules
    drawing: float = 0.4  # outlines, hatching and diagrams
    woodcut: float = 1.0  # dense strokes and dark areas, with or without a frame
    form: float = 0.3  # boxes and labels, filled in by hand
    ledger: float = 0.3  # handwriting and figures between drawn rules
    sparse: float = 1.5  # a few words, with strong show-through of the other side
    calligraphy: float = 0.8  # a few large words with hairlines and flourishes, seldom with show-through
    music: float = 0.2  # staves, notes and lyrics
    map: float = 0.25  # coasts, roads, hachures, and names at every angle
    ornament: float = 0.3  # frames, borders and decorated initials
    directions: float = 0.3  # text that runs in two directions
    pencil: float = 0.4  # thin, pale and grainy strokes
    typescript: float = 0.4  # typewritten text
    bands: float = 0.25  # white letters on black bands, on pages under the convention `all` only
    halftone: float = 0.2  # printed photographs beside text
    photograph: float = 0.2  # photographs in continuous tone beside text
    other_scripts: float = 0.3  # share of text in other scripts than Latin, as far as there are fonts
    fonts: str | None = None  # folder of fonts; without it the system's fonts are used
    degrade: DegradeConfig = field(
        default_factory=lambda: DegradeConfig(
            untouched=0.03,
            new_paper=0.0,
            recoloured=0.0,
            bleed_through=0.5,
            snapshot=0.1,
            microfilm=0.08,
            photocopy=0.08,
            clean=0.06,
        )
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        frequencies = [getattr(self, kind) for kind in PAGE_KINDS]
        self.require(
            "print",
            min(frequencies) >= 0 and sum(frequencies) > 0,
            "0 or more, as the frequencies of all kinds of pages, of which one must be above 0",
        )
        self.require("other_scripts", 0 <= self.other_scripts <= 1, "from 0 to 1")


@dataclass(frozen=True, kw_only=True)
class RegionConfig(Config):
    """Regions of pages: each is degraded as a whole, and several crops are cut from it.

    The other crops are degraded by themselves and have no page context: they show more different pages.
    """

    side: int = 0  # pixels, the largest side of a region; with 0 every crop is degraded by itself
    share: float = 1.0  # share of the crops that are cut from regions
    crops: int = 4  # crops that are cut from each region, one in each update
    blank: float = 0.15  # share of the crops that are taken where a region has least ink
    cleared: float = 0.08  # probability that the writing is removed from part of a region
    hidden: float = 0.2  # share of the crops that are shown without page context
    # Probability of a margin around a real page, instead of degrade.margin: few of a region's crops lie at its sides.
    margin: float = 0.2

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("side", self.side == 0 or self.side >= 64, "0, or 64 or more")
        self.require("crops", self.crops >= 1, "1 or more")
        for name in ("share", "blank", "cleared", "hidden", "margin"):
            self.require(name, 0 <= getattr(self, name) <= 1, "a probability from 0 to 1")


@dataclass(frozen=True, kw_only=True)
class DataConfig(Config):
    """Which pages are trained and validated on, and how crops are cut from them."""

    crop: int = 512  # pixels, side of a crop (S in the paper)
    # Share of the updates whose crops are twice as long as that in one direction and half as long in the other. Windows
    # of a page are longer than a crop, and so are the scans through them.
    oblong: float = 0.0
    validation_share: float = 0.1  # share of the pages, without the held-out ones, that are validated on
    validate_on: tuple[str, ...] = ()  # years that are validated on as a whole, instead of that share
    zoom: tuple[float, float] = (0.7, 1.4)  # smallest and largest factor by which a crop is scaled
    wide_zoom: tuple[float, float] = (0.35, 2.5)  # the same for the share `wide` of the crops
    wide: float = 0.0  # share of the crops that are scaled by `wide_zoom`
    rotation: float = 4.0  # degrees, largest angle in either direction of the crops of the share `rotated`
    rotated: float = 0.3  # share of the crops that are rotated by a small angle
    # The probabilities that a crop is mirrored sideways, upside down and along its diagonal.
    flips: tuple[float, float, float] = (0.5, 0.5, 0.0)
    turns: float = 0.0  # probability that a finished crop is rotated by 90, 180 or 270 degrees
    region: RegionConfig = field(default_factory=RegionConfig)
    least_ink: float = 0.005  # share of a crop's pixels that should be ink
    tries: int = 3  # attempts to find a crop with that much ink; the last one is used in any case
    textures: str | None = None  # folder of blank paper; without it all paper is procedural
    bared: float = 0.0  # share of the paper that is made from other pages by removing their ink
    degrade: DegradeConfig = field(default_factory=DegradeConfig)
    synthetic_share: float = 0.0  # share of the crops that are synthetic; with 1 no real pages are needed
    # Share of the synthetic crops with the contests' convention of ink, if the network knows several.
    synthetic_contest: float = 0.5
    # Share of the crops of pairs under `contest` that are trained as `all`: text is ink under both conventions.
    contest_as_all: float = 0.0
    synthetic: SyntheticConfig = field(default_factory=SyntheticConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("synthetic_share", 0 <= self.synthetic_share <= 1, "from 0 to 1")
        self.require("synthetic_contest", 0 <= self.synthetic_contest <= 1, "from 0 to 1")
        self.require("contest_as_all", 0 <= self.contest_as_all <= 1, "from 0 to 1")
        self.require("crop", self.crop >= 16, "16 or more")
        self.require("oblong", 0 <= self.oblong <= 1, "from 0 to 1")
        self.require("validation_share", 0 <= self.validation_share < 1, "from 0 to less than 1")
        for name in ("zoom", "wide_zoom"):
            low, high = getattr(self, name)
            self.require(name, 0.1 <= low <= high <= 10, "two factors from 0.1 to 10, in order")
        self.require("wide", 0 <= self.wide <= 1, "a probability from 0 to 1")
        self.require("bared", 0 <= self.bared <= 1, "a probability from 0 to 1")
        wide_enough = self.region.side == 0 or self.region.side >= self.longest
        self.require("region", wide_enough, f"at least as wide as a crop, {self.longest} pixels")
        self.require("rotation", 0 <= self.rotation <= 45, "from 0 to 45 degrees")
        self.require("rotated", 0 <= self.rotated <= 1, "a probability from 0 to 1")
        self.require(
            "flips", all(0 <= chance <= 1 for chance in self.flips), "three probabilities from 0 to 1"
        )
        self.require("turns", 0 <= self.turns <= 1, "a probability from 0 to 1")
        self.require("least_ink", 0 <= self.least_ink < 1, "from 0 to less than 1")
        self.require("tries", self.tries >= 1, "1 or more")

    @property
    def longest(self) -> int:
        """The longest side of a crop, in pixels."""
        return 2 * self.crop if self.oblong else self.crop
