"""`drmamba ablate`: the paper's ablation tables, run with any preset and budget."""

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
@click.option("--list", "shown", is_flag=True, help="Print every table and row, and stop.")
@click.option("--data", metavar="ROOT", help="A folder of years.")
@click.option("--table", metavar="TABLE", help="components, fusion, directions, loss or backbone.")
@click.option("--row", "rows", multiple=True, metavar="ROW", help="Only these rows, such as A0.")
@click.option("--hold-out", metavar="YEARS|all", help="The fold or folds; the paper's is 2019.")
@click.option("-o", "--output", "root", metavar="RUN", help="A folder for all runs.")
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
    """Train and score every row of an ablation table; the same command resumes.

    Writes TABLE.json, TABLE.md and TABLE.png after every run. Rows that are the same run in two tables are
    trained once.
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
    # The tables are about the paper's loss, whatever the preset's own recipe makes of it.
    config = configured(base=replace(recipe(options["preset"]), loss=LossConfig()), **options)
    wanted = [] if hold_out == "all" else (hold_out or PAPER_YEAR).split(",")
    years = [job.name for job in folds(config, Path(root), wanted)]
    total = len(variants(table, rows)) * len(years)
    launcher = RunLauncher(devices, accelerator)
    say = partial(click.echo, err=True)
    texts = list(ablate(config, Path(root), table, years, launcher, say, rows))
    if len(texts) < total:
        click.echo(f"stopped with {len(texts)} of {total} runs done; the same command goes on", err=True)
        sys.exit(INTERRUPTED)
    click.echo(texts[-1])
