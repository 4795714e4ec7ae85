"""The settings that change the pixels of a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from drmamba.config.base import Config
from drmamba.config.model import Convention


@dataclass(frozen=True, kw_only=True)
class WindowConfig(Config):
    """The sliding window; docs/performance.md says how the stride was chosen."""

    window: int = 640  # pixels, the longest side of a window
    stride: int = 608  # pixels from one window to the next, at most
    fit: bool = True  # whether windows shrink so that fewer pixels are computed twice

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("window", self.window >= 32, "32 or more")
        self.require("stride", 1 <= self.stride <= self.window, f"from 1 to the window's {self.window}")


Precision = Literal["auto", "float32", "int8", "bfloat16"]
ExportPrecision = Literal["float32", "int8"]
Keep = Literal["text", "all"]
Pictures = Literal["dither", "threshold", "white", "grey"]
# The ink convention that each choice stands for.
KEPT: dict[Keep, Convention] = {"text": "contest", "all": "all"}


# The names that these settings had in earlier versions, and the names of today.
FORMER_NAMES = {"turn": "auto_rotate", "grain": "add_noise", "as_is": "keep_bilevel"}
# The settings that earlier versions did not have, with the values that describe what those versions did.
LATER_SETTINGS: dict[str, Any] = {"despeckle": False}


@dataclass(frozen=True, kw_only=True)
class InferenceConfig(Config):
    """Everything besides the model that changes the pixels of a result."""

    windows: WindowConfig = field(default_factory=WindowConfig)
    threshold: float = 0.5  # pixels with a probability above this are ink
    suppress: float = 1.0  # factor of beta: 0 subtracts no background, 1 as much as the model chooses
    keep: Keep = "text"  # marks that are ink: text alone, or all that was printed, written or drawn
    context: bool = True  # whether the network sees the whole page, reduced, in addition to each window
    scale: Literal["auto"] | float = "auto"  # factor by which the page is scaled for the network
    invert: bool = True  # whether white-on-black pages are inverted
    auto_rotate: bool = True  # whether pages whose lines run up or down are rotated for the network
    add_noise: bool = True  # whether noise is added to pages that are cleaner than any scan
    # Whether pages whose ink is pale throughout are shown with more contrast to a network that asks for it.
    auto_contrast: bool = True
    keep_bilevel: bool = True  # whether pages that are already black and white are kept as they are
    margins: bool = True  # whether dark margins of the scan are removed
    despeckle: bool = False  # whether pieces of ink smaller than a fragment of a stroke are removed
    witness: bool = True  # whether the result is compared with what is dark on the page
    second_look: bool = True  # whether the network sees again what the witness misses
    restore: bool = True  # whether, with keep = "all", what is still missing is taken from the page itself
    find_pictures: bool = True  # whether pictures in tone are found
    pictures: Pictures = "dither"  # what becomes of pictures; only PDF pages show them in grey
    # Grey levels of 255; a window with less contrast in every cell of 32 pixels is blank without inference.
    min_contrast: int = 8
    precision: Precision = "auto"  # number format of the network; auto is the runtime's own choice

    @classmethod
    def with_current_names(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values under today's names; files and programs of earlier versions have other ones."""
        return {FORMER_NAMES.get(name, name): value for name, value in values.items()}

    @classmethod
    def with_later_settings(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings in a result's record as those of today, which earlier versions did not all have."""
        return LATER_SETTINGS | cls.with_current_names(values)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("threshold", 0 < self.threshold < 1, "between 0 and 1")
        self.require("suppress", 0 <= self.suppress <= 100, "from 0 to 100")
        self.require("scale", self.scale == "auto" or 0.05 <= self.scale <= 8, "auto or from 0.05 to 8")
        self.require("min_contrast", 0 <= self.min_contrast <= 255, "from 0 to 255")


def chosen_settings(
    protocol: str, given: Mapping[str, Any], window: int | None = None, stride: int | None = None
) -> InferenceConfig:
    """Return a protocol's settings with those that were given; None stands for a setting that was not.

    A window without a stride keeps the protocol's overlap, unless that is more than half of the window.
    """
    config = replace(
        PROTOCOLS[protocol], **{name: value for name, value in given.items() if value is not None}
    )
    if window is None and stride is None:
        return config
    side = config.windows.window if window is None else window
    overlap = config.windows.window - config.windows.stride
    step = max(side - overlap, side // 2) if stride is None else stride
    return replace(config, windows=replace(config.windows, window=side, stride=step))


# `paper` runs the network alone, with the paper's windows; `default` is what users get.
PROTOCOLS: dict[str, InferenceConfig] = {
    "default": InferenceConfig(),
    "paper": InferenceConfig(
        windows=WindowConfig(window=512, stride=256, fit=False),
        context=False,
        scale=1.0,
        invert=False,
        auto_rotate=False,
        add_noise=False,
        auto_contrast=False,
        keep_bilevel=False,
        margins=False,
        witness=False,
        second_look=False,
        restore=False,
        find_pictures=False,
        min_contrast=0,
    ),
}
