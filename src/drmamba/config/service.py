"""The settings of the web service."""

from __future__ import annotations

from dataclasses import dataclass

from drmamba.config.base import Config


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
