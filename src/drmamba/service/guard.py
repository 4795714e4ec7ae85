"""What stands before every request: the token, the shutdown and the counters. Plain ASGI, no library."""

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

OPEN = ("/healthz", "/readyz")  # asked by machines that know no secrets
COOKIE = "drmamba_token"
TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*|")  # RFC 6750; empty: none is asked for
COUNTED = re.compile(r"/(v1/binarize|v1/models|v1/results|healthz|readyz|metrics|openapi\.json)(/|$)")


class Guard:
    """Wraps the service; knows how many API requests are not answered to the last byte yet."""

    def __init__(self, app: App, *, token: str, counters: Counters) -> None:
        self.app, self.token, self.counters = app, token, counters
        self.unanswered = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
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
            # The process ends (a second Ctrl-C, or a browser that holds on): no traceback, but an answer.
            if not begun:
                await self._answer(stopping(), watched)
        finally:
            self.unanswered -= path.startswith("/v1")
            self.counters.requests.labels(path, str(status)).inc()
            self.counters.seconds.labels(path).observe(time.perf_counter() - started)

    async def idle(self, hurried: Callable[[], bool]) -> None:
        """Wait until every API request is answered, or somebody is in a hurry."""
        while self.unanswered and not hurried():
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
        """401, or a cookie for a browser that brought the token in its address."""
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        brought = query.get("token", [""])[0].replace(" ", "+")  # a token has no space: it was a plus
        if scope["method"] == "GET" and brought and self._right(brought.encode()):
            cookie = f"{COOKIE}={brought}; Path=/; HttpOnly; SameSite=Strict"
            # Two slashes, or one and a backslash, would lead to another machine.
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
    """Refuse a token that no client could show; it is a secret, so only what is wrong with it is named."""
    if not TOKEN.fullmatch(token):
        wrong = next((c for c in token if not TOKEN.fullmatch(c)), "=")
        words = "letters, digits and -._~+/ (RFC 6750), '=' at its end only"
        raise ConfigError(f"service.token must be of {words}; it holds {wrong!r}")
