"""What can be wrong with a request, as RFC 9457 problems."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

MEDIA_TYPE = "application/problem+json"


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


def busy(seconds: int) -> Problem:
    """The queue is full."""
    words = f"the queue is full; try again in {seconds} s"
    return Problem(429, "busy", words, headers={"Retry-After": str(seconds)})


def stopping() -> Problem:
    """No new work: the service is shutting down."""
    return Problem(503, "stopping", "the service is shutting down", headers={"Retry-After": "10"})


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
