"""The pages of a report in order of concern: what a person should look at first, and why, in words."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from drmamba.errors import InputError
from drmamba.inference.quality import FLAGS, UNREMARKABLE

# How much each flag speaks against a page; an unknown flag of a later version counts like FLAG_CONCERN.
CONCERNS = {
    "lost_content": 8.0,
    "uncertain": 6.0,
    "blank": 5.0,
    "dense": 5.0,
    "kept_dirt": 4.0,
    "dark_margins": 1.0,
}
FLAG_CONCERN = 2.0
FAILED_CONCERN = 100.0  # more than all flags together
BOX_CONCERN = {"lost_content": 0.5, "kept_dirt": 0.25}  # for each marked place
MOST_BOX_CONCERN = 3.0  # for all marked places together
DOUBT_CONCERN = 10.0  # for a page whose `doubt` is 1
MAX_BOXES = 200  # marked places of a kind that are shown on one page


@dataclass(frozen=True, kw_only=True)
class ReportedPage:
    """One line of a report, checked: whatever the line holds, these values have their types."""

    status: str
    input: str
    output: str | None
    page: int
    pages: int
    output_sha256: str = ""
    error: str | None = None
    flags: tuple[str, ...] = ()
    boxes: dict[str, list[tuple[float, float, float, float]]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    uncertain: float = 0.0  # share of the page's pixels
    ink: float = 0.0  # share of the page's pixels
    doubt: float = 0.0  # share of the ink that may be missing, 0 to 1

    @property
    def id(self) -> str:
        """A short name; it changes with the result, so that a decision about an older result does not count."""
        return sha256(json.dumps([self.input, self.page, self.output_sha256]).encode()).hexdigest()[:16]

    @property
    def concern(self) -> float:
        """How much speaks for looking at this page before the others."""
        flags = sum(CONCERNS.get(flag, FLAG_CONCERN) for flag in self.flags if flag not in UNREMARKABLE)
        boxes = sum(BOX_CONCERN.get(kind, 0.0) * len(found) for kind, found in self.boxes.items())
        uncertain = min(1.0, self.uncertain / self.ink) if self.ink > 0 else 0.0
        failed = FAILED_CONCERN if self.status == "failed" else 0.0
        return failed + flags + min(boxes, MOST_BOX_CONCERN) + DOUBT_CONCERN * self.doubt + uncertain

    @property
    def warnings(self) -> list[str]:
        """The reasons to look at the page, in words."""
        failed = [self.error or "the page failed"] if self.status == "failed" else []
        return failed + [flag_words(flag) for flag in self.flags if flag not in UNREMARKABLE]

    @property
    def notes(self) -> list[str]:
        """What was done to the page without being a reason to look at it, in words."""
        return [flag_words(flag) for flag in self.flags if flag in UNREMARKABLE]


def flag_words(flag: str) -> str:
    """Return what a flag means."""
    return FLAGS.get(flag, flag.replace("_", " "))


def read_reports(paths: Iterable[Path]) -> list[ReportedPage]:
    """Return the pages of reports, the most doubtful first; the newest line of a page counts."""
    pages: dict[tuple[str, int], ReportedPage] = {}
    for path in paths:
        found = 0
        try:
            with path.open(encoding="utf-8", errors="surrogateescape") as file:
                for line in file:
                    page = _parsed(line)
                    if page is not None:
                        found += 1
                        pages[page.input, page.page] = page
        except OSError as error:
            raise InputError(f"cannot read the report {path}: {error.strerror or error}") from error
        if not found:
            raise InputError(f"{path} holds no line of a report; write one with drmamba binarize --report")
    return sorted(pages.values(), key=lambda page: (-page.concern, page.input, page.page))


def _parsed(line: str) -> ReportedPage | None:
    """Return the page of a line, or None if the line is incomplete or no line of a report."""
    try:
        values = json.loads(line)
        output, error = values.get("output"), values.get("error")
        return ReportedPage(
            status=str(values["status"]),
            input=str(values["input"]),
            output=None if output is None else str(output),
            page=int(values.get("page", 1)),
            pages=int(values.get("pages", 1)),
            output_sha256=str(values.get("output_sha256") or ""),
            error=None if error is None else str(error),
            flags=tuple(str(flag) for flag in values.get("flags") or ()),
            boxes=_boxes(values.get("boxes")),
            settings=dict(values.get("settings") or {}),
            uncertain=float(values.get("uncertain") or 0.0),
            ink=float(values.get("ink") or 0.0),
            doubt=min(max(float(values.get("doubt") or 0.0), 0.0), 1.0),
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def _boxes(values: Any) -> dict[str, list[tuple[float, float, float, float]]]:
    """Return the marked places by kind; what is no box is left out."""
    boxes: dict[str, list[tuple[float, float, float, float]]] = {}
    for kind, found in values.items() if isinstance(values, dict) else ():
        for box in found[:MAX_BOXES] if isinstance(found, list) else ():
            try:
                left, top, right, bottom = (float(value) for value in box)
            except (TypeError, ValueError):
                continue
            if math.isfinite(left + top + right + bottom) and left < right and top < bottom:
                boxes.setdefault(str(kind), []).append((left, top, right, bottom))
    return boxes
