"""The server process: a socket, the API, the web page, and a shutdown that finishes the work in progress."""

from __future__ import annotations

import signal
import socket
import threading
import time
from typing import Any

from drmamba.config import ReadingConfig, ServiceConfig
from drmamba.errors import ConfigError, MissingExtra
from drmamba.inference.binarizer import Binarizer
from drmamba.service.api import build_api
from drmamba.service.engine import ConversionEngine
from drmamba.service.guard import Guard, check_token
from drmamba.service.page_routes import add_page_routes
from drmamba.service.service import Service

try:
    import uvicorn
except ImportError as error:
    raise MissingExtra("uvicorn", "web") from error

INTERRUPTED = 130  # exit code of a shutdown that gave up requests in progress
SHUTDOWN_SECONDS = 2  # time for browsers with an open page to disconnect
KEEP_ALIVE_SECONDS = 15  # that a connection may wait for its next request
IDLE_SECONDS = 20.0  # that a connection may take for the head of a request; uvicorn has no limit for that


class Server(uvicorn.Server):
    """A server with the API and, if wanted, the web page; `run` serves until SIGINT or SIGTERM."""

    def __init__(
        self, binarizer: Binarizer, limits: ServiceConfig, reading: ReadingConfig | None = None
    ) -> None:
        check_token(limits.token)
        self.socket = listening_socket(limits.host, limits.port)
        self.service = Service(ConversionEngine(binarizer, limits, reading), limits)
        try:
            app = build_api(self.service)
            if limits.page:
                add_page_routes(app, trained=binarizer.provenance.trained)
        except BaseException:
            self.socket.close()
            self.service.close()
            raise
        self.guard = Guard(app, limits=limits, counters=self.service.counters)
        settings = uvicorn.Config(
            self.guard,
            log_level="warning",
            access_log=False,  # Names and addresses of what people upload are not logged.
            server_header=False,
            lifespan="on",
            ws="none",
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        super().__init__(settings)
        self._idle: dict[Any, float] = {}  # connections without a request, and since when

    @property
    def url(self) -> str:
        """Return the address of the service."""
        host, port = self.socket.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal stops the server."""
        if threading.current_thread() is threading.main_thread():
            # After its shutdown uvicorn raises the signal again, when there is nothing left to do.
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: None)
        try:
            super().run(sockets or [self.socket])
        finally:
            self.service.close()
        if self.force_exit:
            raise SystemExit(INTERRUPTED)

    async def on_tick(self, counter: int) -> bool:
        """Close the connections on which no request arrives; uvicorn calls this ten times a second."""
        now = time.monotonic()
        idle = [c for c in self.server_state.connections if is_idle(c)]
        self._idle = {connection: self._idle.get(connection, now) for connection in idle}
        for connection, since in self._idle.items():
            if now - since > IDLE_SECONDS:
                connection.transport.abort()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse new work, answer what was requested, and then close the connections of browsers."""
        self.service.stopping = True
        for server in self.servers:
            server.close()
        await self.guard.idle(lambda: self.force_exit)
        await super().shutdown(sockets)
        if self.force_exit:  # uvicorn omits this then, and would print a traceback.
            await self.lifespan.shutdown()


def is_idle(connection: Any) -> bool:
    """Return whether a connection of uvicorn has no request, or has answered its last one."""
    cycle = getattr(connection, "cycle", None)
    return cycle is None or cycle.response_complete


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or raise an error that says why that is impossible."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=256)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot listen on {host}, port {port}: {reason}; choose another --port") from error
