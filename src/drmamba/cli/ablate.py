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
@click.option(
    "--report",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write the report of the records in this folder to the Markdown file -o, and exit; nothing is trained.",
)
@click.option("--data", metavar="ROOT", help="The data set: a folder of years.")
@click.option(
    "--table",
    metavar="TABLE|all",
    help="The table to run: components, fusion, directions, loss, backbone, or all of them.",
)
@click.option(
    "--row", "rows", multiple=True, metavar="ROW", help="Run only this row, such as A0; may be repeated."
)
@click.option(
    "--seeds",
    metavar="NUMBERS",
    default="0",
    show_default=True,
    help="Train every row once with each of these seeds, such as 0,1,2.",
)
@click.option(
    "--hold-out",
    metavar="YEARS|all",
    help="The years to hold out, one run each. [default: 2019, as in the paper]",
)
@click.option(
    "--usage-on",
    metavar="YEARS|none",
    help="Measure the use of each route on these years, which no row is trained on. "
    "[default: the last year of --validate-on]",
)
@click.option(
    "--records",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The folder for the records of finished runs, small JSON files. [default: RUN/records]",
)
@click.option("-o", "--output", metavar="RUN|FILE", help="The folder for all runs, or the file of --report.")
@run_options
def command(
    shown: bool,
    folder: Path | None,
    table: str | None,
    rows: tuple[str, ...],
    seeds: str,
    hold_out: str | None,
    usage_on: str | None,
    records: Path | None,
    output: str | None,
    devices: int,
    accelerator: str,
    **options: Any,
) -> None:
    """Train and score every row of an ablation table; the same command resumes it.

    All rows start from the same tensors and see the same crops. A finished run leaves a record, and TABLE.md in RUN is
    written after every run. The same command may be started once for each core: each takes the runs that are left.
    """
    from drmamba.experiments.studies.ablation_report import write_report
    from drmamba.experiments.studies.ablation_tables import (
        PAPER_YEAR,
        TABLE_NAMES,
        distinct_runs,
        listing,
        variants,
    )
    from drmamba.experiments.studies.ablations import ablate, fair_config, jobs
    from drmamba.experiments.studies.leave_one_out import folds
    from drmamba.experiments.studies.run_series import RunLauncher

    if shown:
        click.echo(listing(recipe(options["preset"]).model.encoder))
        return
    if folder is not None:
        if output is None:
            raise ConfigError("say where to write the report: --report DIR -o FILE.md")
        write_report(folder, Path(output), [] if table in (None, "all") else [str(table)])
        click.echo(f"drmamba: wrote {output}", err=True)
        return
    if table is None or output is None:
        raise ConfigError(
            f"say which table and where: --table {'|'.join(TABLE_NAMES)}|all -o RUN (or --list)"
        )
    # The tables study the paper's loss, which the preset's recipe may have changed.
    base = replace(recipe(options["preset"]), loss=LossConfig())
    config = fair_config(configured(base=base, **options))
    root = Path(output)
    wanted = [] if hold_out == "all" else (hold_out or PAPER_YEAR).split(",")
    years = [job.name for job in folds(config, root, wanted)]
    names = TABLE_NAMES if table == "all" else (table,)
    chosen = [variant for name in names for variant in variants(name, config.model.encoder, rows)]
    todo = jobs(config, root, distinct_runs(chosen), years, _numbers(seeds))
    measured = _usage_years(usage_on, config.data.validate_on, years)
    say = partial(click.echo, err=True)
    kept = records or root / "records"
    text, finished = "", 0
    for _ in ablate(config, root, todo, kept, RunLauncher(devices, accelerator), say, measured):
        text = write_report(kept, root / f"{table}.md", [] if table == "all" else [table])
        finished += 1
    if finished < len(todo):
        click.echo(f"{finished} of {len(todo)} runs are done; the same command does the others", err=True)
        sys.exit(INTERRUPTED)
    click.echo(text)


def _numbers(text: str) -> list[int]:
    try:
        return list(dict.fromkeys(int(word) for word in text.split(",")))
    except ValueError:
        raise ConfigError(
            f"--seeds takes numbers with commas between them, such as 0,1,2; got {text!r}"
        ) from None


def _usage_years(asked: str | None, kept: tuple[str, ...], held: list[str]) -> list[str]:
    """Return the years on which the routes are measured; no row may have been trained on them."""
    if asked is None:
        return list(kept[-1:])
    years = [] if asked == "none" else asked.split(",")
    for year in years:
        if year not in kept and held != [year]:
            raise ConfigError(f"--usage-on {year}: rows are trained on it; name a year of --validate-on")
    return years
