"""`drmamba review`: the pages of a batch in one HTML file, for the eyes of a person."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("reports", nargs=-1, required=True, metavar="REPORT...", type=FILE)
@click.option("-o", "--output", type=click.Path(path_type=Path),
              help="The HTML file to write. [default: review.html beside the first report]")  # fmt: skip
@click.option("--title", default="", help="The heading of the review. [default: the names of the reports]")
@click.option("--copies/--no-copies", default=True, show_default=True,
              help="Copy pages that browsers cannot show (PDF, TIFF, JPEG 2000, HEIC, JPEG XL) into a folder beside "
              "the review, at full resolution.")  # fmt: skip
@click.option("--options", default="", metavar="TEXT",
              help="Options that every redo command gets, such as \"--model FILE\".")  # fmt: skip
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="How many files are read at the same time. [default: one per core]",
)
@click.option("--overwrite", is_flag=True, help="Replace the output even if it is not a review.")
def command(
    reports: tuple[Path, ...],
    output: Path | None,
    title: str,
    copies: bool,
    options: str,
    workers: int | None,
    overwrite: bool,
) -> None:
    """Put the pages of a batch into one HTML file, the most doubtful first.

    REPORT is what drmamba binarize --report has written; several are joined. The file works without a network and from
    any folder, as long as the pages keep their places relative to it.
    """
    from drmamba.inference.review.review_file import write_review

    output = output or reports[0].with_name("review.html")
    with click.progressbar(length=1, label="drmamba: pages", file=sys.stderr) as bar:

        def progress(done: int, pages: int) -> None:
            bar.length = pages
            bar.update(done - bar.pos)

        count = write_review(
            list(reports),
            output,
            copies=copies,
            workers=workers or os.cpu_count() or 1,
            title=title,
            options=options,
            overwrite=overwrite,
            progress=progress,
        )
    click.echo(f"drmamba: {count} pages in {output} ({output.stat().st_size / 1e6:.1f} MB)", err=True)
