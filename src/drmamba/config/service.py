"""The settings of the web service."""

from __future__ import annotations

from dataclasses import dataclass

from drmamba.config.base import Config


@dataclass(frozen=True, kw_only=True)
class ServiceConfig(Config):
    """Where `drmamba serve` listens, and the limits of one request."""

    host: str = "127.0.0.1"
    port: int = 7860  # 0 stands for any free port
    page: bool = True  # whether the web page is served in addition to the API
    token: str = ""  # secret that clients must send; empty if none is needed
    queue: int = 16  # requests that may wait; further ones are answered with 429
    max_bytes: int = 100_000_000  # size of a request's body
    max_files: int = 20  # files in one request
    max_pages: int = 300  # pages of one file
    max_pixels: int = 200_000_000  # pixels of one page
    max_seconds: float = 120.0  # time that one request may be worked on
    upload_seconds: float = 600.0  # time that one upload may take
    upload_rate: int = 20_000  # bytes per second; an upload that stays slower is refused
    upload_bytes: int = 1_000_000_000  # bytes of all uploads that are held at the same time
    answer_seconds: float = 30.0  # time that a client may take to read the next piece of an answer
    keep_minutes: float = 15.0  # lifetime of linked results, and of jobs that nobody asks about any more
    keep_bytes: int = 500_000_000  # bytes of such results; the oldest are removed first
    exploration_memory: int = 600_000_000  # bytes of maps kept for the pages that are explained
    hosts: tuple[str, ...] = ()  # names of this service; without a token, requests to other names are refused

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("port", 0 <= self.port <= 65535, "from 0 to 65535")
        for name in ("max_bytes", "max_files", "max_pages", "max_pixels", "upload_bytes"):
            self.require(name, getattr(self, name) >= 1, "1 or more")
        for name in ("queue", "keep_bytes", "exploration_memory", "upload_rate"):
            self.require(name, getattr(self, name) >= 0, "0 or more")
        for name in ("max_seconds", "upload_seconds", "keep_minutes", "answer_seconds"):
            self.require(name, 0 < getattr(self, name) < 1e6, "more than 0")
