"""`drmamba push`: publish a trained model on the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path

import click

from drmamba.cli.options import model_option
from drmamba.config import PushConfig

DEFAULT = PushConfig()


@click.command()
@click.argument("repository", metavar="OWNER/NAME")
@model_option()
@click.option(
    "--onnx",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also publish this ONNX export of the model.",
)
@click.option("--private", is_flag=True, default=DEFAULT.private, help="Make a new repository private.")
@click.option(
    "--branch", help="Commit to this branch instead of the main one; it is created if there is none."
)
@click.option("--message", default=DEFAULT.message, show_default=True, help="The message of the commit.")
@click.option(
    "--licence",
    default=DEFAULT.licence,
    show_default=True,
    help="The licence of the weights, which the model card states.",
)
def command(
    repository: str,
    model: str,
    onnx: Path | None,
    private: bool,
    branch: str | None,
    message: str,
    licence: str,
) -> None:
    """Publish a model on the Hub with its config and a model card, and print OWNER/NAME@SHA.

    The repository is created if there is none. Log in with `hf auth login` first, or set HF_TOKEN.
    """
    config = PushConfig(private=private, branch=branch, message=message, licence=licence)

    from drmamba.integrations.hub import push

    click.echo(push(repository, model, config, onnx))
