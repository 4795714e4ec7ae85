"""`ocrd-drmamba-binarize`: the OCR-D processor, or one line that says which library is missing."""

from __future__ import annotations

import sys

import click

from drmamba.errors import DRMambaError


def main() -> None:
    """Run the processor; a known error is one line on stderr and exit code 2."""
    try:
        from drmamba.integrations.ocrd import command

        command(prog_name="ocrd-drmamba-binarize")
    except DRMambaError as error:
        click.echo(f"ocrd-drmamba-binarize: {error}", err=True)
        sys.exit(2)
