"""`drmamba benchmark`: methods side by side on the same pages."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from drmamba.config import CLASSICAL, PROTOCOLS, BenchmarkConfig

DEFAULT = BenchmarkConfig()


@click.command()
@click.option(
    "--data",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder of years: YEAR/img/NAME.*, YEAR/gt/NAME.png.",
)
@click.option("--years", default="", help="Only these, as in 2009,2010. [default: all there are]")
@click.option(
    "--methods", default=",".join(DEFAULT.methods), show_default=True,
    help=f"Of {', '.join(CLASSICAL)}; drmamba; name=FOLDER for predictions of your own (FOLDER/YEAR/NAME.png); "
    "name=FILE for another model.",
)  # fmt: skip
@click.option(
    "--model", default=DEFAULT.model, show_default=True, help="Of the method drmamba: a preset or a file."
)
@click.option(
    "--protocol", type=click.Choice(list(PROTOCOLS)), default=DEFAULT.protocol, show_default=True,
    help="How models run; paper: window 512, stride 256, and nothing but the network.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), default=Path(DEFAULT.output), show_default=True,
    help="Folder for report.md, report.json, scores.png and the binarized pages; a run goes on where it was cut off.",
)  # fmt: skip
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path),
    help="Write the JSON report here too; - is stdout.",
)
@click.option("--plot/--no-plot", default=True, help="Draw scores.png. [default: plot]")
@click.option("--overwrite", is_flag=True, help="Begin anew, whatever the folder holds.")
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
    """Binarize the pages of a data set with several methods and compare their scores, time and memory."""
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
            f"{run.done} of {run.total} results are in {output} already (--overwrite begins anew)", err=True
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
