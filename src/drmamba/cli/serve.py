"""`drmamba serve`: the web page and the HTTP API."""

from __future__ import annotations

from ipaddress import ip_address

import click

from drmamba.cli.binarize import Bytes
from drmamba.cli.network import loaded
from drmamba.config import EngineConfig, ReadingConfig, ServiceConfig

DEFAULT, ENGINE, READING = ServiceConfig(), EngineConfig(), ReadingConfig()


@click.command()
@click.option("--host", default=DEFAULT.host, show_default=True, help="Address to listen on; 0.0.0.0 is all.")
@click.option("--port", type=int, default=DEFAULT.port, show_default=True, help="0: any free one.")
@click.option(
    "--page/--no-page", default=DEFAULT.page, show_default=True, help="The web page beside the API."
)
@click.option(
    "--token", default=DEFAULT.token, envvar="DRMAMBA_TOKEN", help="What clients must show as "
    "`Authorization: Bearer TOKEN`; better given as DRMAMBA_TOKEN, which other users do not see."
)  # fmt: skip
@click.option("--model", default="lite", show_default=True, help="A preset's name or a model file.")
@click.option("--queue", type=int, default=DEFAULT.queue, show_default=True,
              help="Requests that may wait; more get 429 and Retry-After.")  # fmt: skip
@click.option("--max-bytes", type=Bytes(), default=DEFAULT.max_bytes, help="Of a request, e.g. 50MB. "
              f"[default: {DEFAULT.max_bytes / 1e6:g}MB]")  # fmt: skip
@click.option("--max-files", type=int, default=DEFAULT.max_files, show_default=True, help="Of a request.")
@click.option("--max-pages", type=int, default=DEFAULT.max_pages, show_default=True, help="Of one file.")
@click.option("--max-pixels", type=int, default=DEFAULT.max_pixels, show_default=True, help="Of one page.")
@click.option("--max-seconds", type=float, default=DEFAULT.max_seconds, show_default=True,
              help="Of work on one request.")  # fmt: skip
@click.option("--keep-minutes", type=float, default=DEFAULT.keep_minutes, show_default=True,
              help="How long results wait that a JSON answer links to.")  # fmt: skip
@click.option(
    "--dpi", type=int, default=READING.dpi, show_default=True, help="Of PDF pages that are not scans."
)
@click.option("--device", default=ENGINE.device, show_default=True, help="auto, cpu, cuda, cuda:1, ...")
@click.option(
    "--workers", type=int, default=ENGINE.workers, help="Windows at once on the CPU. [default: one a core]"
)
@click.option("--max-memory", type=Bytes(), default=ENGINE.max_memory,
              help=f"Of all processes together. [default: {ENGINE.max_memory / 1e9:g}GB]")  # fmt: skip
def command(
    host: str,
    port: int,
    page: bool,
    token: str,
    model: str,
    queue: int,
    max_bytes: int,
    max_files: int,
    max_pages: int,
    max_pixels: int,
    max_seconds: float,
    keep_minutes: float,
    dpi: int,
    device: str,
    workers: int,
    max_memory: int,
) -> None:
    """Serve a web page and an HTTP API, by default to this machine only; Ctrl-C ends it.

    The API: curl -F file=@scan.jpg http://127.0.0.1:7860/v1/binarize -o page.png
    """
    config = ServiceConfig(
        host=host,
        port=port,
        page=page,
        token=token,
        queue=queue,
        max_bytes=max_bytes,
        max_files=max_files,
        max_pages=max_pages,
        max_pixels=max_pixels,
        max_seconds=max_seconds,
        keep_minutes=keep_minutes,
    )
    engine = EngineConfig(device=device, workers=workers, max_memory=max_memory)
    reading = ReadingConfig(dpi=dpi)

    from drmamba.errors import ConfigError
    from drmamba.inference.models import EXPORTED
    from drmamba.service.server import Server

    if page and model.endswith(EXPORTED):
        raise ConfigError(
            f"the page looks inside the network, which {model} does not allow; give --no-page too"
        )
    binarizer = loaded(model, engine)
    if not token and not _is_local(host):
        words = f"everybody who reaches {host} may use this service; DRMAMBA_TOKEN would ask for a token"
        click.secho(f"drmamba: WARNING: {words}", err=True, fg="yellow")
    with binarizer:
        server = Server(binarizer, config, reading)
        click.echo(f"drmamba: serving at {server.url} (Ctrl-C ends)", err=True)
        server.run()


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
