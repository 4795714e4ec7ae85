"""A page that a browser has open, and what the browser shows of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from drmamba.config import InferenceConfig
from drmamba.images import Bitmap


@dataclass
class OpenPage:
    """One page of an uploaded file."""

    path: Path
    name: str  # file name that the user knows
    number: int  # of this page in the file, counted from 1
    pages: int  # in the file
    config: InferenceConfig | None = None  # settings that the bitmap was made with
    bitmap: Bitmap | None = None
    flags: tuple[str, ...] = ()
    thumbnail: Path | None = None

    @property
    def title(self) -> str:
        """Return the file's name, with the page's number if there are several."""
        return self.name if self.pages == 1 else f"{self.name}, page {self.number} of {self.pages}"


@dataclass(frozen=True)
class ShownPage:
    """What the browser shows of a page."""

    before: Path  # image files, which are not changed any more
    after: Path
    facts: str
    notes: list[str]  # the flags as sentences
    links: dict[str, str]  # format -> address
    title: str
