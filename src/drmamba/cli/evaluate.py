"""`drmamba evaluate`: the contest's scores of predictions on disk."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("predictions", type=click.Path(path_type=Path))
@click.argument("ground_truth", type=click.Path(path_type=Path))
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path), help="Write all scores here; - is stdout."
)
@click.option("--csv", "csv_file", type=click.Path(path_type=Path), help="The same as CSV; - is stdout.")
@click.option(
    "--threshold", type=click.IntRange(1, 255),
    help="Take grey pages too: darker than this (of 255) is ink. Without it a grey page is an error.",
)  # fmt: skip
@click.option(
    "--weights", type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the ground truth's weight maps (NAME_RWeights.dat, NAME_PWeights.dat): "
    "read if there, else made and stored.",
)  # fmt: skip
@click.option(
    "--skeleton", is_flag=True, help="Add the p-FM of 2008-2012 (recall on the skeleton) as FM_skel."
)
@click.option("--workers", type=click.IntRange(0), default=0, help="Pages at once. [default: one a core]")
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
    """Score PREDICTIONS against GROUND_TRUTH: two files, or two folders matched by file name.

    FM, p-FM, PSNR and DRD as the DIBCO contests compute them, for each page and on average. Ink is black.
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
