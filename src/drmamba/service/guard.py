"""A layer in front of the application: token, host name and headers, slow readers, counters, and the shutdown."""

from __future__ import annotations

import asyncio
import json
import math
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qs, quote

from drmamba.config import ServiceConfig
from drmamba.errors import ConfigError
from drmamba.service.counters import Counters
from drmamba.service.problems import MEDIA_TYPE, Problem, stopping

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = ("/healthz", "/readyz")  # paths for monitoring, which has no token
COOKIE = "drmamba_token"
TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*|")  # RFC 6750; empty if no token is required
COUNTED = re.compile(r"/(v1/binarize|v1/jobs|v1/models|v1/results|healthz|readyz|metrics|openapi\.json)(/|$)")
STOPPING_SECONDS = 5.0  # that reading the next piece of an answer may take while the service shuts down
# The web page loads its own files alone, and talks to this service alone. A picture that is opened is no page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"cache-control": b"no-store",
}


class SlowReaderError(BaseException):
    """A client does not read its answer; no handler of errors should try to send it another one."""


class Guard:
    """Wraps the application, and counts the API requests that are not completely answered yet."""

    def __init__(self, app: App, *, limits: ServiceConfig, counters: Counters) -> None:
        self.app, self.limits, self.token, self.counters = app, limits, limits.token, counters
        self.unanswered = 0
        self.stopped = math.inf  # when the service began to shut down

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the application, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        match = COUNTED.match(scope["path"])
        path = f"/{match[1]}" if match else "page"
        status, started = 500, time.monotonic()
        begun: float | None = None  # when the answer began

        async def watched(message: Message) -> None:
            nonlocal status, begun
            begun = begun or time.monotonic()
            if message["type"] == "http.response.start":
                status = message["status"]
                names = {name.lower() for name, _ in message.get("headers", ())}
                added = [(name, value) for name, value in HEADERS.items() if name not in names]
                message["headers"] = [*message.get("headers", ()), *added]
            await self._sent(send, message, begun)

        self.unanswered += path.startswith("/v1")
        try:
            refusal = self._refusal(scope)
            if scope["path"] in OPEN:
                await self.app(scope, receive, watched)
            elif refusal is not None:
                await self._answer(refusal, watched)
            elif self._brings_token(scope):
                await self._give_cookie(scope, watched)
            elif self._allowed(scope):
                await self.app(scope, receive, watched)
            else:
                words = "a token is needed: Authorization: Bearer TOKEN, or /?token=TOKEN once in a browser"
                problem = Problem(401, "token", words, headers={"WWW-Authenticate": "Bearer"})
                await self._answer(problem, watched)
        except SlowReaderError:
            status = 499
            transport = getattr(getattr(send, "__self__", None), "transport", None)
            if transport is not None:  # uvicorn would wait for the client before it closes the connection.
                transport.abort()
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            # The process ends although this request is not done (after a second Ctrl-C): answer without a traceback.
            if begun is None:
                await self._answer(stopping(), watched)
        finally:
            self.unanswered -= path.startswith("/v1")
            self.counters.requests.labels(path, str(status)).inc()
            self.counters.seconds.labels(path).observe(time.monotonic() - started)

    async def idle(self, forced: Callable[[], bool]) -> None:
        """Wait until every API request is answered, or the shutdown is forced."""
        self.stopped = time.monotonic()
        while self.unanswered and not forced():
            await asyncio.sleep(0.05)

    async def _sent(self, send: Send, message: Message, begun: float) -> None:
        """Send a part of an answer; a client that does not read it is given up."""
        started = time.monotonic()
        if started > self._deadline(begun, started):
            raise SlowReaderError
        sending = asyncio.ensure_future(send(message))
        try:
            while not sending.done():
                await asyncio.wait({sending}, timeout=0.5)
                if not sending.done() and time.monotonic() > self._deadline(begun, started):
                    raise SlowReaderError
            sending.result()
        finally:
            sending.cancel()

    def _deadline(self, begun: float, piece: float) -> float:
        """Return when a client must have read a piece of an answer, by the times at which answer and piece began.

        A piece has its time. When the service shuts down it has less, and the rest of the answer has as much as one
        piece had before; so no client can keep the service from ending by reading slowly.
        """
        most = self.limits.answer_seconds
        if self.stopped == math.inf:
            return piece + most
        return min(max(piece, self.stopped) + STOPPING_SECONDS, max(begun, self.stopped) + most)

    def _refusal(self, scope: Scope) -> Problem | None:
        """Return why a request is not for this service, or comes from another site's page."""
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        # A page of another site whose name leads to this machine cannot know the token, so only without one the name
        # must be checked.
        if not self.token and not known_host(host, self.limits):
            words = f"this service is not {host[:100]!r}; start it with --allow-host, or with a token"
            return Problem(421, "host", words)
        if scope["method"] not in ("GET", "HEAD") and headers.get(b"sec-fetch-site") == b"cross-site":
            return Problem(403, "cross-site", "pages of other sites cannot use this service")
        return None

    def _allowed(self, scope: Scope) -> bool:
        if not self.token:
            return True
        headers = {name: value for name, value in scope["headers"] if name in (b"authorization", b"cookie")}
        shown = headers.get(b"authorization", b"")
        if shown[:7].lower() == b"bearer " and self._right(shown[7:].strip()):
            return True
        try:
            cookie = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and self._right(cookie.value.encode("latin-1", "replace"))

    def _right(self, shown: bytes) -> bool:
        return secrets.compare_digest(shown, self.token.encode())

    def _brings_token(self, scope: Scope) -> bool:
        """Return whether a browser sent the token in its address."""
        if not self.token or scope["method"] != "GET":
            return False
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        # A token has no spaces; in an address they stand for plus signs.
        return self._right(query.get("token", [""])[0].replace(" ", "+").encode())

    async def _give_cookie(self, scope: Scope, send: Send) -> None:
        """Give a browser the token as a cookie, and lead it to the address without the token."""
        cookie = f"{COOKIE}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        # A path that begins with two slashes, or a slash and a backslash, would lead to another machine.
        place = "/" + quote(scope["path"].lstrip("/"))
        headers = [(b"location", place.encode()), (b"set-cookie", cookie.encode())]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def _answer(self, problem: Problem, send: Send) -> None:
        body = json.dumps(problem.body()).encode()
        known = {"content-type": MEDIA_TYPE, "content-length": str(len(body))} | problem.headers
        headers = [(name.lower().encode(), value.encode()) for name, value in known.items()]
        await send({"type": "http.response.start", "status": problem.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def known_host(host: str, limits: ServiceConfig) -> bool:
    """Return whether a Host header names this service: by an address, as localhost, or by a name that was given.

    Only a name can be made to lead here by somebody else, so every address is known.
    """
    name = host.rpartition(":")[0] if re.search(r":\d*$", host) else host
    known = {"localhost", limits.host.lower(), *(known.lower() for known in limits.hosts)}
    if name in known:
        return True
    try:
        return bool(ip_address(name.strip("[]")))
    except ValueError:
        return False


def check_token(token: str) -> None:
    """Refuse a token that no client could send; the error names the wrong character, not the secret."""
    if not TOKEN.fullmatch(token):
        wrong = next((c for c in token if not TOKEN.fullmatch(c)), "=")
        words = "letters, digits and -._~+/ (RFC 6750), '=' at its end only"
        raise ConfigError(f"service.token must consist of {words}; it holds {wrong!r}")
