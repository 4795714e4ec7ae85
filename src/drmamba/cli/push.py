"""`drmamba push`: a trained model on the Hugging Face Hub."""

from __future__ import annotations

from pathlib import Path

import click

from drmamba.config import PushConfig

DEFAULT = PushConfig()


@click.command()
@click.argument("repository", metavar="OWNER/NAME")
@click.option("--model", default="lite", show_default=True, help="A preset's name or a model file.")
@click.option("--onnx", type=click.Path(path_type=Path, dir_okay=False), help="Its export, to go along.")
@click.option("--private", is_flag=True, default=DEFAULT.private, help="If the repository is new.")
@click.option("--branch", help="Commit to this branch, made if there is none, instead of the main one.")
@click.option("--message", default=DEFAULT.message, show_default=True, help="Of the commit.")
@click.option("--licence", default=DEFAULT.licence, show_default=True, help="Of the weights, for the card.")
def command(
    repository: str,
    model: str,
    onnx: Path | None,
    private: bool,
    branch: str | None,
    message: str,
    licence: str,
) -> None:
    """Put a model on the Hub with its config and a card made from its origin; prints OWNER/NAME@SHA.

    The repository is made if there is none. Log in with `hf auth login` first, or set HF_TOKEN.
    """
    config = PushConfig(private=private, branch=branch, message=message, licence=licence)

    from drmamba.integrations.hub import push

    click.echo(push(repository, model, config, onnx))
