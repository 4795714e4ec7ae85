"""A layer in front of the application that checks the token, counts requests and helps to shut down."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, quote

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
COUNTED = re.compile(r"/(v1/binarize|v1/models|v1/results|healthz|readyz|metrics|openapi\.json)(/|$)")


class Guard:
    """Wraps the application, and counts the API requests that are not completely answered yet."""

    def __init__(self, app: App, *, token: str, counters: Counters) -> None:
        self.app, self.token, self.counters = app, token, counters
        self.unanswered = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the application, or refuse it."""
        if scope["type"] == "websocket" and not self._allowed(scope):
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        match = COUNTED.match(scope["path"])
        path = f"/{match[1]}" if match else "page"
        status, begun, started = 500, False, time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
            await send(message)

        self.unanswered += path.startswith("/v1")
        try:
            if self._allowed(scope) or scope["path"] in OPEN:
                await self.app(scope, receive, watched)
            else:
                await self._refuse(scope, watched)
        except asyncio.CancelledError:
            # The process ends although this request is not done (after a second Ctrl-C): answer without a traceback.
            if not begun:
                await self._answer(stopping(), watched)
        finally:
            self.unanswered -= path.startswith("/v1")
            self.counters.requests.labels(path, str(status)).inc()
            self.counters.seconds.labels(path).observe(time.perf_counter() - started)

    async def idle(self, forced: Callable[[], bool]) -> None:
        """Wait until every API request is answered, or the shutdown is forced."""
        while self.unanswered and not forced():
            await asyncio.sleep(0.05)

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

    async def _refuse(self, scope: Scope, send: Send) -> None:
        """Answer with 401, or with a cookie if a browser sent the token in its address."""
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        brought = query.get("token", [""])[0].replace(
            " ", "+"
        )  # A token has no spaces; in an address they stand for plus signs.
        if scope["method"] == "GET" and brought and self._right(brought.encode()):
            cookie = f"{COOKIE}={brought}; Path=/; HttpOnly; SameSite=Strict"
            # A path that begins with two slashes, or a slash and a backslash, would lead to another machine.
            place = "/" + quote(scope["path"].lstrip("/"))
            headers = [(b"location", place.encode()), (b"set-cookie", cookie.encode())]
            await send({"type": "http.response.start", "status": 303, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        words = "a token is needed: Authorization: Bearer TOKEN, or /?token=TOKEN once in a browser"
        await self._answer(Problem(401, "token", words, headers={"WWW-Authenticate": "Bearer"}), send)

    async def _answer(self, problem: Problem, send: Send) -> None:
        body = json.dumps(problem.body()).encode()
        known = {"content-type": MEDIA_TYPE, "content-length": str(len(body))} | problem.headers
        headers = [(name.lower().encode(), value.encode()) for name, value in known.items()]
        await send({"type": "http.response.start", "status": problem.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def check_token(token: str) -> None:
    """Refuse a token that no client could send; the error names the wrong character, not the secret."""
    if not TOKEN.fullmatch(token):
        wrong = next((c for c in token if not TOKEN.fullmatch(c)), "=")
        words = "letters, digits and -._~+/ (RFC 6750), '=' at its end only"
        raise ConfigError(f"service.token must consist of {words}; it holds {wrong!r}")
