"""Everything that can be wrong with a request, as problems according to RFC 9457."""

from __future__ import annotations

import errno
from http import HTTPStatus
from pathlib import Path
from typing import Any

from drmamba.errors import CheckpointError, DRMambaError, ImageError, InputError

MEDIA_TYPE = "application/problem+json"
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
GONE = "there is no such result; results expire"


class Problem(Exception):  # noqa: N818
    """An error as the client sees it: what is wrong, and what would be right."""

    def __init__(
        self, status: int, kind: str, detail: str, *, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.headers, self.more = headers or {}, more

    def body(self) -> dict[str, Any]:
        """Return the problem as plain values."""
        title = HTTPStatus(self.status).phrase
        named = {"type": f"urn:drmamba:{self.kind}", "title": title, "status": self.status}
        return named | {"detail": self.detail} | self.more


class PageProblem(Problem, ImageError):  # noqa: N818
    """A problem of one page, which the other pages of its file do not share."""


def over_limit(limit: str, allowed: float, detail: str, status: int = 413) -> Problem:
    """Return the problem of a request that exceeds one of the service's limits."""
    return Problem(status, f"limit-{limit}", detail, limit=limit, allowed=allowed)


def out_of_memory(pixels: int, fitting: int = 0) -> Problem:
    """Return the problem of a page that does not fit the service's memory, with the size that would."""
    if fitting:
        words = (
            f"is too large: {pixels / 1e6:,.1f} megapixels, about {fitting / 1e6:,.1f} of its kind fit this "
        )
        words += "service's memory; send it smaller"
        return PageProblem(413, "limit-pixels", words, limit="pixels", allowed=fitting)
    size = f": {pixels / 1e6:,.1f} megapixels do not fit" if pixels else ": it does not fit"
    words = f"is too large{size} this service's memory; send it smaller"
    return PageProblem(413, "limit-pixels", words, limit="pixels")


def internal_error(error: BaseException) -> Problem:
    """Return the problem of a failure of the service itself; it does not reveal any path."""
    cause = error.__cause__ or error
    if isinstance(cause, OSError) and cause.errno in FULL_DISK:
        return Problem(507, "storage", "there is no room left on the service's disk; try again later")
    if isinstance(error, CheckpointError | InputError):  # The network raises these, and it knows no paths.
        return Problem(500, "model", f"the service's network cannot do this: {error}")
    return Problem(500, "fault", "something went wrong in the service; its log says what")


def problem_for(error: Exception, path: Path, name: str) -> Problem:
    """Return the problem of a file that failed; it names the file as its sender does.

    The status is 422 only if something is wrong with the file.
    """
    if isinstance(error, Problem):
        return Problem(
            error.status, error.kind, f"{name} {error.detail}", headers=error.headers, **error.more
        )
    if isinstance(error, MemoryError):
        return problem_for(out_of_memory(0), path, name)
    # Files are decoded in another process, which reports errors as text; an OSError is therefore our own.
    if isinstance(error, ImageError) and not isinstance(error.__cause__, OSError):
        return Problem(422, "unreadable", str(error).replace(str(path), name))
    own = internal_error(error)
    return Problem(own.status, own.kind, f"{name}: {own.detail}")


def combined(problems: list[Problem]) -> Problem:
    """Return one problem that names all of several files; its status is the most serious one."""
    worst = max(problems, key=lambda problem: problem.status)
    details = "; ".join(problem.detail for problem in problems)
    return Problem(worst.status, worst.kind, details, headers=worst.headers, **worst.more)


def too_slow(words: str, seconds: float) -> Problem:
    """Return the problem of an upload that takes too long."""
    return Problem(408, "limit-seconds", words, limit="seconds", allowed=seconds)


def busy(seconds: int, words: str = "the queue is full") -> Problem:
    """Return the problem of a service that takes no more for now."""
    return Problem(429, "busy", f"{words}; try again in {seconds} s", headers={"Retry-After": str(seconds)})


def stopping() -> Problem:
    """Return the problem of a service that is shutting down."""
    return Problem(503, "stopping", "the service is shutting down", headers={"Retry-After": "10"})


KNOWN = (Problem, DRMambaError, OSError, MemoryError)  # errors that concern one file only
PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "limit": {"type": "string", "enum": ["bytes", "files", "pages", "pixels", "seconds", "windows"]},
        "allowed": {"type": "number"},
    },
}


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries of these problems."""
    content = {MEDIA_TYPE: {"schema": PROBLEM_SCHEMA}}
    return {s: {"description": HTTPStatus(s).phrase, "content": content} for s in statuses}
