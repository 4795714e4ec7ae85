"""`drmamba loo`: leave one year out, for every year in turn."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from drmamba.cli import INTERRUPTED
from drmamba.cli.train import configured, run_options


@click.command()
@click.option("--data", metavar="ROOT", required=True, help="The data set: a folder of years.")
@click.option("-o", "--output", "root", metavar="RUN", required=True, help="The folder for all folds.")
@click.option(
    "--years", metavar="YEARS", help="Run only these folds, such as 2016,2018. [default: all years]"
)
@click.option(
    "--beside",
    metavar="METHODS",
    default="otsu,sauvola,gatos,su",
    show_default=True,
    help="Classical methods to score on the same pages; an empty value stands for none.",
)
@click.option(
    "--chosen-on",
    metavar="YEARS",
    default="",
    help="Years that the recipe was chosen on; the table marks them and adds an average without them.",
)
@run_options
def command(
    root: str,
    years: str | None,
    beside: str,
    chosen_on: str,
    devices: int,
    accelerator: str,
    **options: Any,
) -> None:
    """Hold out each year in turn, train on the others and score that year; the same command resumes.

    results.json, table.md and plot.png are written after every fold.
    """
    config = configured(**options)
    from drmamba.experiments.studies.leave_one_out import folds, leave_one_out
    from drmamba.experiments.studies.leave_one_out_report import table
    from drmamba.experiments.studies.run_series import RunLauncher

    wanted, chosen = ([year for year in (given or "").split(",") if year] for given in (years, chosen_on))
    total = len(folds(config, Path(root), wanted))
    say = partial(click.echo, err=True)
    methods = [name for name in beside.split(",") if name]
    done: dict[str, Any] = {}
    launcher = RunLauncher(devices, accelerator)
    for scores in leave_one_out(config, Path(root), launcher, say, wanted, methods, chosen):
        done = scores
    if len(done) < total:
        click.echo(f"stopped with {len(done)} of {total} folds done; the same command resumes", err=True)
        sys.exit(INTERRUPTED)
    click.echo(table(done, config.preset, total, chosen))
