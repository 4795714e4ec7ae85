"""The settings of reading files."""

from __future__ import annotations

from dataclasses import dataclass

from drmamba.config.base import Config


@dataclass(frozen=True, kw_only=True)
class ReadingConfig(Config):
    """How files become pages."""

    max_pixels: int = 1_000_000_000  # a page that declares more is refused before it is decoded
    dpi: int = 300  # resolution at which PDF pages that are not scans are rendered
    max_seconds: float = 3600.0  # time that decoding all pages of one file may take; 0 stands for no limit

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("max_pixels", self.max_pixels >= 1, "1 or more")
        self.require("max_seconds", self.max_seconds >= 0, "0 or more")
        self.require("dpi", 30 <= self.dpi <= 2400, "from 30 to 2400")
