"""`drmamba serve`: the web page and the HTTP API."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import click

from drmamba.cli.network import load_binarizer
from drmamba.cli.options import (
    device_option,
    dpi_option,
    max_memory_option,
    model_option,
    runtime_option,
    workers_option,
)
from drmamba.cli.types import ByteSize
from drmamba.config import EngineConfig, ReadingConfig, ServiceConfig

DEFAULT = ServiceConfig()


@click.command()
@click.option(
    "--host",
    default=DEFAULT.host,
    show_default=True,
    help="The address to listen on; 0.0.0.0 stands for all.",
)
@click.option(
    "--port",
    type=int,
    default=DEFAULT.port,
    show_default=True,
    help="The port to listen on; 0 stands for any free one.",
)
@click.option(
    "--page/--no-page",
    default=DEFAULT.page,
    show_default=True,
    help="Serve the web page in addition to the API.",
)
@click.option(
    "--token", default=DEFAULT.token, envvar="DRMAMBA_TOKEN", help="Require this secret as `Authorization: Bearer "
    "TOKEN`. The environment variable DRMAMBA_TOKEN is safer, because other users cannot see it."
)  # fmt: skip
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME",
              help="Serve requests to this host name as well; it can be given several times. Without a token, only "
              "requests to an IP address, to localhost and to such names are served.")  # fmt: skip
@model_option()
@click.option("--queue", type=int, default=DEFAULT.queue, show_default=True,
              help="How many requests may wait; further ones are answered with 429 and Retry-After.")  # fmt: skip
@click.option("--max-bytes", type=ByteSize(), default=DEFAULT.max_bytes,
              help="The largest size of a request, such as 50MB. "
              f"[default: {DEFAULT.max_bytes / 1e6:g}MB]")  # fmt: skip
@click.option(
    "--max-files",
    type=int,
    default=DEFAULT.max_files,
    show_default=True,
    help="How many files a request may hold.",
)
@click.option(
    "--max-pages",
    type=int,
    default=DEFAULT.max_pages,
    show_default=True,
    help="How many pages a file may hold.",
)
@click.option(
    "--max-pixels",
    type=int,
    default=DEFAULT.max_pixels,
    show_default=True,
    help="How many pixels a page may have.",
)
@click.option("--max-seconds", type=float, default=DEFAULT.max_seconds, show_default=True,
              help="How long one request, or one page of a job, may be worked on.")  # fmt: skip
@click.option("--keep-minutes", type=float, default=DEFAULT.keep_minutes, show_default=True,
              help="How long linked results, and jobs that nobody asks about, are kept.")  # fmt: skip
@dpi_option
@device_option
@runtime_option
@workers_option
@max_memory_option
def command(
    host: str,
    port: int,
    page: bool,
    token: str,
    hosts: tuple[str, ...],
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
    runtime: Any,
    workers: int,
    max_memory: int,
) -> None:
    """Serve a web page and an HTTP API, by default to this machine only; Ctrl-C ends the service.

    Use the API like this: curl -F file=@scan.jpg http://127.0.0.1:7860/v1/binarize -o page.png
    """
    config = ServiceConfig(
        host=host,
        port=port,
        page=page,
        token=token,
        hosts=hosts,
        queue=queue,
        max_bytes=max_bytes,
        max_files=max_files,
        max_pages=max_pages,
        max_pixels=max_pixels,
        max_seconds=max_seconds,
        keep_minutes=keep_minutes,
    )
    engine = EngineConfig(device=device, runtime=runtime, workers=workers, max_memory=max_memory)
    reading = ReadingConfig(dpi=dpi)

    from drmamba.service.server import Server

    binarizer = load_binarizer(model, engine)
    if not token and not _is_local(host):
        words = f"everybody who reaches {host} may use this service; set DRMAMBA_TOKEN to require a token"
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
