"""`drmamba loo`: leave one year out, for every year in turn."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from drmamba.cli import INTERRUPTED
from drmamba.cli.train import configured, run_options
from drmamba.errors import ConfigError


@click.command()
@click.option(
    "--report",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write results.json, table.md and plot.png of the records in this folder to -o, and exit; "
    "nothing is trained.",
)
@click.option("--data", metavar="ROOT", help="The data set: a folder of years.")
@click.option(
    "-o", "--output", "root", metavar="RUN", required=True, help="The folder for all folds and the results."
)
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
@click.option(
    "--records",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The folder for the records of finished folds, small JSON files. [default: RUN/records]",
)
@run_options
def command(
    folder: Path | None,
    root: str,
    years: str | None,
    beside: str,
    chosen_on: str,
    records: Path | None,
    devices: int,
    accelerator: str,
    **options: Any,
) -> None:
    """Hold out each year in turn, train on the others and score that year; the same command resumes.

    A finished fold leaves a record, and results.json, table.md and plot.png are written after every fold. The same
    command may be started once for each core: each takes the folds that are left.
    """
    from drmamba.experiments.studies.leave_one_out import folds, leave_one_out, report
    from drmamba.experiments.studies.run_series import RunLauncher

    output = Path(root)
    wanted, chosen = ([year for year in (given or "").split(",") if year] for given in (years, chosen_on))
    if folder is not None:
        click.echo(report(folder, output, chosen))
        return
    if options["data"] is None:
        raise ConfigError(
            "say which data to train on: --data ROOT (or --report DIR for the records of folds)"
        )
    config = configured(**options)
    jobs = folds(config, output, wanted)
    say = partial(click.echo, err=True)
    methods = [name for name in beside.split(",") if name]
    kept = records or output / "records"
    finished: set[str] = set()
    launcher = RunLauncher(devices, accelerator)
    for done in leave_one_out(config, output, kept, launcher, say, wanted, methods, chosen):
        finished = set(done)
    left = [job.name for job in jobs if job.name not in finished]
    if left:
        click.echo(f"{', '.join(left)}: not done yet; the same command resumes", err=True)
        sys.exit(INTERRUPTED)
    click.echo((output / "table.md").read_text())
