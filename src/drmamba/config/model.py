"""The settings of the network, and the presets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from drmamba.config.base import Config
from drmamba.errors import ConfigError

STRIDES = (4, 8, 16, 32)  # of the encoder's features F_1 to F_4

# What counts as ink: what the contests call ink, which is text only, or all that was printed, written or drawn.
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
    projected: bool = (
        False  # decoder stages project their inputs to their own width before the 3 x 3 convolution
    )
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
        block=BlockConfig(width=48, centred=True, horizons=(4.0, 128.0)),
        detail=DetailConfig(width=16, head_width=32, dilations=(2,), fold=2),
    ),
}


def preset(name: str) -> ModelConfig:
    """The network settings behind a preset's name."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name]
