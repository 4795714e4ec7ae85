"""The settings of the pages that a network is trained on."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal, get_args

from drmamba.config.base import Config

SYNTHETIC = "synthetic"  # name of the set of synthetic pages, given instead of a folder of years


@dataclass(frozen=True, kw_only=True)
class DegradeConfig(Config):
    """The chance of each degradation, and of a crop to stay as it is."""

    untouched: float = 0.1
    new_paper: float = 0.15
    recoloured: float = 0.15
    faint: float = 0.3
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
    snapshot: float = 0.08  # taken by hand: shading, cast shadows, glare
    out_of_focus: float = 0.15
    defocus: float = 0.1
    contrast: float = 0.35
    colour: float = 0.3
    grain: float = 0.25
    microfilm: float = 0.05
    photocopy: float = 0.05
    grey: float = 0.15
    jpeg: float = 0.2
    clean: float = 0.03  # born digital: white paper, even ink, and no other degradation

    def __post_init__(self) -> None:
        super().__post_init__()
        for item in fields(self):
            self.require(item.name, 0 <= getattr(self, item.name) <= 1, "a chance from 0 to 1")


# Kinds of synthetic pages; SyntheticConfig says what is on them.
World = Literal[
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
WORLDS: tuple[World, ...] = get_args(World)


@dataclass(frozen=True, kw_only=True)
class SyntheticConfig(Config):
    """Pages made here: how often each kind is drawn (any scale), from which fonts, and how degraded."""

    print: float = 1.0  # typeset
    script: float = 1.0  # fonts that look written
    pen: float = 1.2  # strokes of a pen, in no script
    papyrus: float = 0.4  # capitals on dark fibres
    newspaper: float = 0.6  # headlines, columns of small print, rules
    title: float = 0.4  # a huge title above tiny print
    table: float = 0.5  # words and figures between rules
    drawing: float = 0.4  # outlines, hatching, diagrams
    woodcut: float = 0.4  # dense strokes and dark areas, in a frame or not
    form: float = 0.3  # boxes and labels, filled in by hand
    ledger: float = 0.3  # handwriting and figures between drawn rules
    sparse: float = 0.5  # a few words; the other side shows through strongly
    music: float = 0.2  # staves, notes and words to sing
    map: float = 0.25  # coasts, roads, hachures, names at every angle
    ornament: float = 0.3  # frames, borders, decorated initials
    directions: float = 0.3  # text that runs two ways
    pencil: float = 0.4  # thin, pale and grainy strokes
    typescript: float = 0.4  # typewritten
    bands: float = 0.25  # white letters on black, which are left out under `contest`
    halftone: float = 0.2  # printed photographs beside text
    photograph: float = 0.2  # photographs in continuous tone beside text
    other_scripts: float = 0.3  # share of text that is not Latin, where there are fonts for it
    fonts: str | None = None  # a folder of fonts; else those of the system
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
        chances = [getattr(self, world) for world in WORLDS]
        self.require(
            "print", min(chances) >= 0 and sum(chances) > 0, "0 or more, as the others, and one above 0"
        )
        self.require("other_scripts", 0 <= self.other_scripts <= 1, "from 0 to 1")


@dataclass(frozen=True, kw_only=True)
class RegionConfig(Config):
    """Wide pieces of pages that are degraded as a whole, and that crops are cut from."""

    side: int = 0  # pixels, at most; 0: every crop is degraded by itself
    crops: int = 4  # cut from each region, in as many updates
    blank: float = 0.08  # share of the crops that are sought where there is least ink
    cleared: float = 0.08  # chance that part of a region loses its writing
    hidden: float = 0.2  # share of the crops that do not see their page

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("side", self.side == 0 or self.side >= 64, "0, or 64 or more")
        self.require("crops", self.crops >= 1, "1 or more")
        for name in ("blank", "cleared", "hidden"):
            self.require(name, 0 <= getattr(self, name) <= 1, "a chance from 0 to 1")


@dataclass(frozen=True, kw_only=True)
class DataConfig(Config):
    """Which pages are trained and validated on, and how crops are cut from them."""

    crop: int = 512  # S, pixels
    validation_share: float = 0.1  # of the pages that are not held out
    validate_on: tuple[str, ...] = ()  # or these whole years
    zoom: tuple[float, float] = (0.7, 1.4)
    wide_zoom: tuple[float, float] = (0.35, 2.5)  # of a share of the crops ...
    wide: float = 0.0  # ... that is this large
    rotation: float = 4.0  # degrees, either way ...
    rotated: float = 0.3  # ... in this share of the crops
    flips: tuple[float, float, float] = (0.5, 0.5, 0.0)  # chance to mirror sideways, upside down, diagonally
    turns: float = 0.0  # chance that a finished crop lies on its side or upside down; nothing is mirrored
    region: RegionConfig = field(default_factory=RegionConfig)
    least_ink: float = 0.005  # share of a crop that should be ink ...
    tries: int = 3  # ... found in this many attempts, or else taken as it is
    textures: str | None = None  # a folder of blank paper; without it all sheets are procedural
    bared: float = 0.0  # share of the sheets that are other pages without their ink
    degrade: DegradeConfig = field(default_factory=DegradeConfig)
    synthetic_share: float = 0.0  # of the crops; 1 needs no real pages
    # Share of the synthetic crops that are asked for by the contests' idea of ink, where the network knows another.
    synthetic_contest: float = 0.5
    synthetic: SyntheticConfig = field(default_factory=SyntheticConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("synthetic_share", 0 <= self.synthetic_share <= 1, "from 0 to 1")
        self.require("synthetic_contest", 0 <= self.synthetic_contest <= 1, "from 0 to 1")
        self.require("crop", self.crop >= 16, "16 or more")
        self.require("validation_share", 0 <= self.validation_share < 1, "from 0 to less than 1")
        for name in ("zoom", "wide_zoom"):
            low, high = getattr(self, name)
            self.require(name, 0.1 <= low <= high <= 10, "two factors from 0.1 to 10, in order")
        self.require("wide", 0 <= self.wide <= 1, "a chance from 0 to 1")
        self.require("bared", 0 <= self.bared <= 1, "a chance from 0 to 1")
        wide_enough = self.region.side == 0 or self.region.side >= self.crop
        self.require("region", wide_enough, f"at least as wide as a crop, {self.crop} pixels")
        self.require("rotation", 0 <= self.rotation <= 45, "from 0 to 45 degrees")
        self.require("rotated", 0 <= self.rotated <= 1, "a chance from 0 to 1")
        self.require("flips", all(0 <= chance <= 1 for chance in self.flips), "three chances from 0 to 1")
        self.require("turns", 0 <= self.turns <= 1, "a chance from 0 to 1")
        self.require("least_ink", 0 <= self.least_ink < 1, "from 0 to less than 1")
        self.require("tries", self.tries >= 1, "1 or more")
