"""`drmamba benchmark`: several methods on the same pages."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from drmamba.cli.options import model_option, protocol_option
from drmamba.config import CLASSICAL, BenchmarkConfig

DEFAULT = BenchmarkConfig()


@click.command()
@click.option(
    "--data",
    required=True,
    type=click.Path(path_type=Path),
    help="The data set: a folder with YEAR/img/NAME.* and YEAR/gt/NAME.png.",
)
@click.option("--years", default="", help="Use only these years, such as 2009,2010. [default: all]")
@click.option(
    "--methods", default=",".join(DEFAULT.methods), show_default=True,
    help=f"The methods to compare: {', '.join(CLASSICAL)}; drmamba; NAME=FOLDER for predictions of your own "
    "(FOLDER/YEAR/PAGE.png); NAME=MODEL for another network.",
)  # fmt: skip
@model_option(DEFAULT.model)
@protocol_option(DEFAULT.protocol)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), default=Path(DEFAULT.output), show_default=True,
    help="The folder for report.md, report.json, scores.png and the binarized pages; a run that was stopped resumes.",
)  # fmt: skip
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path),
    help="Write the JSON report to this file, too; - stands for standard output.",
)
@click.option("--plot/--no-plot", default=True, help="Draw scores.png. [default: plot]")
@click.option("--overwrite", is_flag=True, help="Compute all results again, even if the folder holds them.")
def command(
    data: Path,
    years: str,
    methods: str,
    model: str,
    protocol: str,
    output: Path,
    json_file: Path | None,
    plot: bool,
    overwrite: bool,
) -> None:
    """Binarize the pages of a data set with several methods; compare their scores, time and memory."""
    from tqdm import tqdm

    from drmamba.experiments.benchmark.methods import parse_methods
    from drmamba.experiments.benchmark.report import BenchmarkReport
    from drmamba.experiments.benchmark.run import RESULTS, Benchmark, choose_pairs
    from drmamba.experiments.report import write_text

    chosen = parse_methods(
        [word for word in methods.split(",") if word.strip()], model=model, protocol=protocol
    )
    pairs, problems = choose_pairs(data, [year.strip() for year in years.split(",") if year.strip()])
    for problem in problems:
        click.echo(f"left out: {problem}", err=True)
    if overwrite:
        (output / RESULTS).unlink(missing_ok=True)
    run = Benchmark(chosen, pairs, output, protocol)
    if run.done:
        click.echo(
            f"{run.done} of {run.total} results are in {output} already (--overwrite computes them again)",
            err=True,
        )
    rows = []
    with tqdm(total=run.total, unit="page", disable=None, smoothing=0.05) as bar:
        for row in run.run():
            rows.append(row)
            if row.error:
                bar.write(f"not scored: {row.method}, {row.year}/{row.page}: {row.error}", file=sys.stderr)
            bar.set_postfix_str(f"{row.year}/{row.page} {row.method}", refresh=False)
            bar.update()
    report = BenchmarkReport(data, chosen, pairs, rows, problems)
    report.write(output, plot=plot)
    if json_file and str(json_file) != "-":
        write_text(json_file, report.json())
    click.echo(report.json() if str(json_file) == "-" else report.text(), nl=str(json_file) != "-")
    click.echo(f"written: {output}", err=True)
    if report.failed:
        sys.exit(1)
