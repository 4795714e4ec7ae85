"""The settings of the network, and the presets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from drmamba.config.base import Config
from drmamba.errors import ConfigError

STRIDES = (4, 8, 16, 32)  # pixels per position of the encoder's features F_1 to F_4

# What counts as ink: text alone, as in the contests, or everything that was printed, written or drawn.
Convention = Literal["contest", "all"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
Backend = Literal["auto", "reference", "chunked", "numba", "triton"]
Directions = Literal[1, 4, 8]
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
class BlockConfig(Config):
    """Everything that changes the dual-route block; the defaults are the paper's."""

    width: int = 96  # d
    routes: Literal["dual", "single"] = "dual"
    fusion: Literal["subtract", "add", "concat"] = "subtract"
    beta: Literal["input", "fixed"] = "input"
    decay: Literal["gap", "shared"] = "gap"  # shared means A_D = A_B
    directions: Directions = 4
    balanced: bool = True  # whether both routes have the same magnitude at the start
    centred: bool = False  # whether beta subtracts only what B, scaled to D, has above its resting level
    horizons: tuple[float, float] = (8.0, 256.0)  # tokens, the range of the slow route's memory at the start
    residual: bool = False  # whether the block's input is added to its output
    # Whether the output is multiplied by a gate computed from the input, as in a conventional Mamba block.
    output_gate: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("width", self.width >= 1, "1 or more")
        self.require("centred", not self.centred or self.balanced, "false unless block.balanced is true")
        in_order = 1 <= self.horizons[0] <= self.horizons[1]
        self.require("horizons", in_order, "two numbers of tokens, 1 or more, in order")


@dataclass(frozen=True, kw_only=True)
class DetailConfig(Config):
    """The full-resolution branch and the head it feeds."""

    # Whether one 1 x 1 convolution with bilinear up-sampling replaces branch, fusion and head.
    plain: bool = False
    enabled: bool = True  # whether there is a branch with the page and its edges
    width: int = 40  # channels of psi, and of the up-sampled O_DR
    head_width: int = 48
    dilations: tuple[int, ...] = (1, 2, 4)  # one for each residual block
    # With fold = n the branch works on n x n pixels stacked as channels (space to depth): no pixel is lost,
    # but the convolutions run on fewer positions with more channels.
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
    decoder: tuple[int, int, int] = (384, 144, 96)  # channels of U_4, U_3, U_2
    projected: bool = False  # whether a decoder stage projects its inputs to its own width first
    deep_supervision: bool = False  # whether U_4 and U_3, too, learn where there is ink
    context: Literal[0, 4, 8] = 0  # factor by which the page is reduced for page context; 0 stands for none
    conventions: tuple[Convention, ...] = ()  # ink conventions that the network can choose from
    convention_output: bool = False  # whether a convention is also added to O_DR, behind the block
    # Pixels; pages whose strokes are much narrower are enlarged to this width. A network that has learned from narrow
    # strokes needs less, and a page costs the square of what it is enlarged by.
    stroke_width: float = 5.0
    # Of full contrast; pages whose ink is paler throughout are shown to the network with ink of this contrast, and
    # with 0 as they are. A network that tells pale ink from the back of the sheet by darker ink needs it.
    ink_contrast: float = 0.0
    # Whether the network has learned from pages that are cleaner than any scan; for another network noise is added to
    # them.
    clean_pages: bool = False
    block: BlockConfig = field(default_factory=BlockConfig)
    detail: DetailConfig = field(default_factory=DetailConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        known = self.encoder in ENCODERS or self.encoder.startswith("timm/")
        self.require("encoder", known, f"one of {', '.join(ENCODERS)} or timm/<name>")
        self.require("decoder", min(self.decoder) >= 1, "three positive widths")
        self.require("stroke_width", 1 <= self.stroke_width <= 8, "from 1 to 8 pixels")
        self.require("ink_contrast", 0 <= self.ink_contrast <= 0.5, "from 0 to 0.5")
        distinct = len(set(self.conventions)) == len(self.conventions)
        self.require("conventions", distinct, "different names")


PRESETS: dict[str, ModelConfig] = {
    "tiny": ModelConfig(),
    "lite": ModelConfig(
        encoder="pplcnetv4_small",
        decoder=(128, 64, 48),
        projected=True,
        deep_supervision=True,
        context=4,
        conventions=CONVENTIONS,
        convention_output=True,
        ink_contrast=0.25,
        clean_pages=True,
        block=BlockConfig(width=48, centred=True, horizons=(4.0, 128.0)),
        detail=DetailConfig(width=16, head_width=24, dilations=(2,), fold=2),
    ),
}
DEFAULT_MODEL = "lite"  # preset whose weights ship with the package


def preset(name: str) -> ModelConfig:
    """Return the network settings of a preset."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name]
