"""`drmamba evaluate`: the contest's scores of binarized pages on disk."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("predictions", type=click.Path(path_type=Path))
@click.argument("ground_truth", type=click.Path(path_type=Path))
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path),
    help="Write all scores as JSON to this file; - stands for standard output.",
)
@click.option(
    "--csv",
    "csv_file",
    type=click.Path(path_type=Path),
    help="Write all scores as CSV to this file; - stands for standard output.",
)
@click.option(
    "--threshold", type=click.IntRange(1, 255),
    help="Accept grey pages, where levels below this (of 255) are ink; without this option a grey page is an error.",
)  # fmt: skip
@click.option(
    "--weights", type=click.Path(path_type=Path, file_okay=False),
    help="The folder of the ground truth's weight maps (NAME_RWeights.dat, NAME_PWeights.dat); missing maps are "
    "computed and stored there.",
)  # fmt: skip
@click.option(
    "--skeleton", is_flag=True, help="Add the p-FM of 2008 to 2012 (recall on the skeleton) as FM_skel."
)
@click.option(
    "--workers",
    type=click.IntRange(0),
    default=0,
    help="How many pages are scored at the same time. [default: one per core]",
)
def command(
    predictions: Path,
    ground_truth: Path,
    json_file: Path | None,
    csv_file: Path | None,
    threshold: int | None,
    weights: Path | None,
    skeleton: bool,
    workers: int,
) -> None:
    """Score PREDICTIONS against GROUND_TRUTH: two files, or two folders whose files are matched by name.

    FM, p-FM, PSNR and DRD are computed as in the DIBCO contests, for each page and on average. Ink is black.
    """
    from tqdm import tqdm

    from drmamba.experiments.evaluation.pairing import pair
    from drmamba.experiments.evaluation.report import EvaluationReport
    from drmamba.experiments.evaluation.scoring import evaluate

    pairing = pair(predictions, ground_truth)
    for path in pairing.missing:
        click.echo(f"no prediction for {path}", err=True)
    for path in pairing.extra:
        click.echo(f"no ground truth for {path}", err=True)
    runs = evaluate(pairing.cases, threshold=threshold, weights=weights, skeleton=skeleton, workers=workers)
    results = list(tqdm(runs, total=len(pairing.cases), unit="page", disable=None, leave=False))
    for result in results:
        if result.error:
            click.echo(f"not scored: {result.case.name}: {result.error}", err=True)
    report = EvaluationReport(predictions, ground_truth, pairing, results)
    if json_file:
        _write(json_file, report.json())
    if csv_file:
        _write(csv_file, report.csv())
    if str(json_file) != "-" and str(csv_file) != "-":
        click.echo(report.table())
    wanted = len(results) + len(pairing.missing)
    if len(report.scored) < wanted:
        click.echo(f"{len(report.scored)} of {wanted} pages are scored", err=True)
        sys.exit(1)


def _write(path: Path, text: str) -> None:
    from drmamba.experiments.report import write_text

    if str(path) == "-":
        click.echo(text, nl=False)
    else:
        write_text(path, text)
