"""The command line: one small file per family of commands, loaded when its command is run."""

from __future__ import annotations

import signal
import sys
from importlib import import_module

import click

from drmamba import __version__
from drmamba.errors import DRMambaError, missing_extra, one_line

INTERRUPTED = 130  # exit code of a run that was stopped and can be resumed

# Each command's module, whose `command` is loaded at use, and what `drmamba --help` says about it.
COMMANDS = {
    "binarize": ("drmamba.cli.binarize", "Turn scans into black-and-white pages."),
    "data": ("drmamba.cli.data", "Check, import, preview and synthesize training pages."),
    "train": ("drmamba.cli.train", "Train a model and score it on a held-out year."),
    "loo": ("drmamba.cli.loo", "Hold out each year in turn, and put all scores in one table."),
    "ablate": ("drmamba.cli.ablate", "Train and score the rows of the paper's ablation tables."),
    "average": ("drmamba.cli.average", "Write the mean of the weights of several models."),
    "review": ("drmamba.cli.review", "Look through the pages of a batch in a browser."),
    "explain": ("drmamba.cli.explain", "Draw what the network saw on a page and what it removed."),
    "serve": ("drmamba.cli.serve", "Serve a web page and an HTTP API."),
    "evaluate": ("drmamba.cli.evaluate", "Score binarized pages as the DIBCO contests do."),
    "benchmark": ("drmamba.cli.benchmark", "Compare several methods on the same pages."),
    "export": ("drmamba.cli.export", "Write a model as ONNX, or at half the size with a model card."),
    "push": ("drmamba.cli.push", "Publish a model on the Hugging Face Hub."),
    "info": ("drmamba.cli.info", "Print the size, cost and provenance of a model."),
}

# The extras of commands that need more than the core.
NEEDED_EXTRAS = {
    "ablate": "train",
    "average": "torch",
    "benchmark": "evaluate",
    "data": "train",
    "evaluate": "evaluate",
    "explain": "evaluate",
    "export": "onnx",
    "loo": "train",
    "train": "train",
}


class LazyGroup(click.Group):
    """A group of commands that lists them without importing them."""

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
        try:
            sys.exit(group(prog_name="drmamba", standalone_mode=False))
        except DRMambaError as error:
            click.echo(f"drmamba: {one_line(str(error))}", err=True)
            sys.exit(2)
        except ModuleNotFoundError as error:
            command = next((word for word in sys.argv[1:] if word in COMMANDS), "")
            missing = missing_extra(error, NEEDED_EXTRAS.get(command, ""))
            if missing is None:
                raise
            click.echo(f"drmamba: {missing}", err=True)
            sys.exit(2)
        except click.ClickException as error:
            error.show()
            sys.exit(error.exit_code)
        except (click.Abort, KeyboardInterrupt):  # Ctrl-C before the command has its own handler
            click.echo("drmamba: stopped", err=True)
            sys.exit(INTERRUPTED)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # A further Ctrl-C while Python shuts down must not change the exit code.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise
