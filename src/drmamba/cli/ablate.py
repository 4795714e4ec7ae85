"""`drmamba ablate`: the paper's ablation tables, with any preset and any length of training."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from drmamba.cli import INTERRUPTED
from drmamba.cli.train import configured, run_options
from drmamba.config import LossConfig, recipe
from drmamba.errors import ConfigError


@click.command()
@click.option("--list", "shown", is_flag=True, help="Print every table and row, and exit.")
@click.option("--data", metavar="ROOT", help="The data set: a folder of years.")
@click.option(
    "--table", metavar="TABLE", help="The table to run: components, fusion, directions, loss or backbone."
)
@click.option(
    "--row", "rows", multiple=True, metavar="ROW", help="Run only this row, such as A0; may be repeated."
)
@click.option(
    "--hold-out",
    metavar="YEARS|all",
    help="The years to hold out, one run each. [default: 2019, as in the paper]",
)
@click.option("-o", "--output", "root", metavar="RUN", help="The folder for all runs.")
@run_options
def command(
    shown: bool,
    table: str | None,
    rows: tuple[str, ...],
    hold_out: str | None,
    root: str | None,
    devices: int,
    accelerator: str,
    **options: Any,
) -> None:
    """Train and score every row of an ablation table; the same command resumes it.

    TABLE.json, TABLE.md and TABLE.png are written after every run. Two rows that need the same run share it.
    """
    from drmamba.experiments.studies.ablation_tables import PAPER_YEAR, TABLES, listing, variants
    from drmamba.experiments.studies.ablations import ablate
    from drmamba.experiments.studies.leave_one_out import folds
    from drmamba.experiments.studies.run_series import RunLauncher

    if shown:
        click.echo(listing())
        return
    if table is None or root is None:
        raise ConfigError(f"say which table and where: --table {'|'.join(TABLES)} -o RUN (or --list)")
    # The tables study the paper's loss, which the preset's recipe may have changed.
    config = configured(base=replace(recipe(options["preset"]), loss=LossConfig()), **options)
    wanted = [] if hold_out == "all" else (hold_out or PAPER_YEAR).split(",")
    years = [job.name for job in folds(config, Path(root), wanted)]
    total = len(variants(table, rows)) * len(years)
    launcher = RunLauncher(devices, accelerator)
    say = partial(click.echo, err=True)
    texts = list(ablate(config, Path(root), table, years, launcher, say, rows))
    if len(texts) < total:
        click.echo(f"stopped with {len(texts)} of {total} runs done; the same command resumes", err=True)
        sys.exit(INTERRUPTED)
    click.echo(texts[-1])
