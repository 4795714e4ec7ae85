"""The process: a socket, the API and the page on it, and a shutdown that finishes what is in hand."""

from __future__ import annotations

import signal
import socket
import threading

from drmamba.config import ReadingConfig, ServiceConfig
from drmamba.errors import ConfigError, MissingExtra
from drmamba.inference.binarizer import Binarizer
from drmamba.service.app import Service, build
from drmamba.service.engine import ConversionEngine
from drmamba.service.guard import Guard, check_token

try:
    import uvicorn
except ImportError as error:
    raise MissingExtra("uvicorn", "web") from error

INTERRUPTED = 130  # the exit code where requests in hand were given up
FAREWELL = 2  # seconds for open pages in browsers to notice


class Server(uvicorn.Server):
    """The API, and the page if it is wanted, on a socket of its own. `run` serves until SIGINT or SIGTERM."""

    def __init__(
        self, binarizer: Binarizer, limits: ServiceConfig, reading: ReadingConfig | None = None
    ) -> None:
        check_token(limits.token)
        self.socket = listening(limits.host, limits.port)
        self.service = Service(ConversionEngine(binarizer, limits, reading), limits)
        try:
            app = build(self.service)
            if limits.page:
                from drmamba.service.page import mount

                app = mount(app, self.service)
        except BaseException:
            self.socket.close()
            self.service.close()
            raise
        self.guard = Guard(app, token=limits.token, counters=self.service.counters)
        settings = uvicorn.Config(
            self.guard,
            log_level="warning",
            access_log=False,  # what people upload is not ours to write down
            server_header=False,
            lifespan="on",
            ws="none",
            timeout_keep_alive=15,
            timeout_graceful_shutdown=FAREWELL,
        )
        super().__init__(settings)

    @property
    def url(self) -> str:
        """Where to find it."""
        host, port = self.socket.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until told to stop."""
        if threading.current_thread() is threading.main_thread():
            # uvicorn raises the signal that stopped it once more; by then it has been obeyed.
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: None)
        try:
            super().run(sockets or [self.socket])
        finally:
            self.service.close()
        if self.force_exit:
            raise SystemExit(INTERRUPTED)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """No new work; answer what was asked; then end what browsers hold open."""
        self.service.stopping = True
        for server in self.servers:
            server.close()
        await self.guard.idle(lambda: self.force_exit)
        await super().shutdown(sockets)
        if self.force_exit:  # uvicorn leaves it out then, and prints a traceback of its end
            await self.lifespan.shutdown()


def listening(host: str, port: int) -> socket.socket:
    """A socket that is ours, or an error that says why not."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=256)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot listen on {host}, port {port}: {reason}; choose another --port") from error
