"""What can be wrong with a request, as RFC 9457 problems."""

from __future__ import annotations

import errno
from http import HTTPStatus
from pathlib import Path
from typing import Any

from drmamba.errors import CheckpointError, DRMambaError, ImageError, InputError

MEDIA_TYPE = "application/problem+json"
FULL = (errno.ENOSPC, errno.EDQUOT)


class Problem(Exception):  # noqa: N818
    """An answer that says what was wrong and what would be right."""

    def __init__(
        self, status: int, kind: str, detail: str, *, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.headers, self.more = headers or {}, more

    def body(self) -> dict[str, Any]:
        """The problem as plain values."""
        title = HTTPStatus(self.status).phrase
        named = {"type": f"urn:drmamba:{self.kind}", "title": title, "status": self.status}
        return named | {"detail": self.detail} | self.more


def over_limit(limit: str, allowed: float, detail: str, status: int = 413) -> Problem:
    """A request beyond one of the service's limits; `limit` says which."""
    return Problem(status, f"limit-{limit}", detail, limit=limit, allowed=allowed)


def out_of_memory(pixels: int, fitting: int = 0) -> Problem:
    """A page that does not fit the service's memory, in words its sender can act on."""
    page = f"has a page of {pixels / 1e6:,.1f} megapixels" if pixels else "has a page"
    if fitting:
        words = f"{page}, about {fitting / 1e6:,.1f} of its kind fit this service's memory; send it smaller"
        return over_limit("pixels", fitting, words)
    words = f"{page} that does not fit this service's memory; send it smaller"
    return Problem(413, "limit-pixels", words, limit="pixels")


def fault(error: BaseException) -> Problem:
    """A failure of the service itself, without its paths."""
    cause = error.__cause__ or error
    if isinstance(cause, OSError) and cause.errno in FULL:
        return Problem(507, "storage", "there is no room left on the service's disk; try again later")
    if isinstance(error, CheckpointError | InputError):  # raised by the network, which knows no paths
        return Problem(500, "model", f"the service's network cannot do this: {error}")
    return Problem(500, "fault", "something went wrong in the service; its log says what")


def told(error: Exception, path: Path, name: str) -> Problem:
    """What a failed file's owner is told: 422 only for what is wrong with the file."""
    if isinstance(error, Problem):
        return Problem(
            error.status, error.kind, f"{name} {error.detail}", headers=error.headers, **error.more
        )
    if isinstance(error, MemoryError):
        return told(out_of_memory(0), path, name)
    # Files are decoded in another process, whose complaints come as words: an OSError is one of ours.
    if isinstance(error, ImageError) and not isinstance(error.__cause__, OSError):
        return Problem(422, "unreadable", str(error).replace(str(path), name))
    own = fault(error)
    return Problem(own.status, own.kind, f"{name}: {own.detail}")


def together(problems: list[Problem]) -> Problem:
    """Several files' problems as one that names them all; the status is the gravest."""
    worst = max(problems, key=lambda problem: problem.status)
    details = "; ".join(problem.detail for problem in problems)
    return Problem(worst.status, worst.kind, details, headers=worst.headers, **worst.more)


def busy(seconds: int) -> Problem:
    """The queue is full."""
    words = f"the queue is full; try again in {seconds} s"
    return Problem(429, "busy", words, headers={"Retry-After": str(seconds)})


def stopping() -> Problem:
    """No new work: the service is shutting down."""
    return Problem(503, "stopping", "the service is shutting down", headers={"Retry-After": "10"})


KNOWN = (Problem, DRMambaError, OSError, MemoryError)  # what a file may fail of, and nothing else with it
PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "limit": {"type": "string", "enum": ["bytes", "files", "pages", "pixels", "seconds"]},
        "allowed": {"type": "number"},
    },
}


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI entries of these problems."""
    content = {MEDIA_TYPE: {"schema": PROBLEM_SCHEMA}}
    return {s: {"description": HTTPStatus(s).phrase, "content": content} for s in statuses}
