"""The settings that change the pixels of a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from drmamba.config.base import Config
from drmamba.config.model import Convention


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


# The names that these settings had in earlier versions, and the names of today.
FORMER_NAMES = {"turn": "auto_rotate", "grain": "add_noise", "as_is": "keep_bilevel"}


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
    auto_rotate: bool = True  # the network sees pages whose lines run up or down rotated by 90 degrees
    add_noise: bool = True  # noise is added before inference to pages that are cleaner than any scan of paper
    keep_bilevel: bool = True  # pages that are black and white already are kept as they are
    margins: bool = True  # dark scan margins are kept from becoming ink
    min_contrast: int = 8  # grey levels (of 255): a window with less is blank without being run
    precision: Precision = "float32"  # of the network; bfloat16 is faster where the hardware has it

    @classmethod
    def with_current_names(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values under today's names; files and programs of earlier versions have other ones."""
        return {FORMER_NAMES.get(name, name): value for name, value in values.items()}

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
        auto_rotate=False,
        add_noise=False,
        keep_bilevel=False,
        margins=False,
        min_contrast=0,
    ),
}
