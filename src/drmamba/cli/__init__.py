"""The command line: one small file per command family, loaded only when its command is run."""

from __future__ import annotations

import signal
import sys
from importlib import import_module

import click

from drmamba import __version__
from drmamba.errors import DRMambaError

INTERRUPTED = 130  # the exit code of a run that was stopped and can be resumed

# name -> (module, what `drmamba --help` says); a module's `command` is loaded at use.
COMMANDS = {
    "binarize": ("drmamba.cli.binarize", "Turn scans into black-and-white pages."),
    "data": ("drmamba.cli.data", "Check, import, look at and make pages to train on."),
    "train": ("drmamba.cli.train", "Train a model and score it on a year it never saw."),
    "loo": ("drmamba.cli.loo", "Train without each year in turn; one table."),
    "ablate": ("drmamba.cli.ablate", "The paper's ablation tables, run here."),
    "explain": ("drmamba.cli.explain", "Show what the network saw on a page, and took away."),
    "serve": ("drmamba.cli.serve", "A web page and an HTTP API."),
    "evaluate": ("drmamba.cli.evaluate", "The contest's scores of binarized pages."),
    "benchmark": ("drmamba.cli.benchmark", "Methods side by side on the same pages."),
    "export": ("drmamba.cli.export", "Write a model as ONNX, or small and with a card."),
    "push": ("drmamba.cli.push", "Put a model on the Hugging Face Hub."),
    "info": ("drmamba.cli.info", "Parameters, cost, backend and origin of a model."),
}


class LazyGroup(click.Group):
    """A group that lists its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="drmamba")
def group() -> None:
    """Turn degraded document scans into clean black-and-white pages."""


def main() -> None:
    """Run the command line; a known error is one line on stderr and exit code 2."""
    try:
        group(prog_name="drmamba")
    except DRMambaError as error:
        click.echo(f"drmamba: {error}", err=True)
        sys.exit(2)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # one Ctrl-C more, while Python tidies up, changes nothing
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise
