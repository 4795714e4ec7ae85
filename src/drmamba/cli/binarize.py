"""`drmamba binarize`: scans in, black-and-white pages out."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from drmamba.cli import INTERRUPTED
from drmamba.cli.network import load_binarizer, warn_if_untrained
from drmamba.cli.options import (
    RenamedOption,
    context_option,
    device_option,
    dpi_option,
    keep_option,
    max_memory_option,
    max_pixels_option,
    max_seconds_option,
    model_option,
    pictures_option,
    protocol_option,
    purpose_option,
    runtime_option,
    suppress_option,
    threshold_option,
    workers_option,
)
from drmamba.cli.progress import Progress
from drmamba.cli.remedies import remedy
from drmamba.cli.streams import Streams, refuse_with_streams
from drmamba.cli.types import PathOrURI, ScaleFactor
from drmamba.config import (
    PURPOSES,
    EngineConfig,
    InferenceConfig,
    PdfCoding,
    Precision,
    PurposeName,
    ReadingConfig,
    ScaleConfig,
    WindowConfig,
    chosen_settings,
)

if TYPE_CHECKING:
    from drmamba.inference.batch import Batch
    from drmamba.inference.records import BatchReport, PageRecord
    from drmamba.scale.ray_batch import RayBatch

INFERENCE, ENGINE, SCALE, WINDOWS = InferenceConfig(), EngineConfig(), ScaleConfig(), WindowConfig()


@click.command()
@click.argument("paths", nargs=-1, required=True, type=PathOrURI())
@click.option(
    "-o", "--output", type=PathOrURI(), help="A folder for the results, or a file name if there is one source; "
    "- stands for standard output. Without this option each result is written beside its source as NAME.bin.png."
)  # fmt: skip
@model_option()
@click.option(
    "--format", "format_", type=click.Choice(["png", "tiff", "pdf", "same"]), default="png", show_default=True,
    help="The format of the results; with same, TIFF and PDF files keep their format and their pages stay in one "
    "file, and all other files become PNG.",
)  # fmt: skip
@click.option("--pdf-coding", type=click.Choice(get_args(PdfCoding)), default="auto", show_default=True,
              help="How pages in PDF files are compressed, without loss; auto is jbig2 where jbig2enc is installed, "
              "and g4 elsewhere.")  # fmt: skip
@click.option("--soft", is_flag=True, help="Also write the probability of ink as NAME.soft.png (8 bits).")
@purpose_option
@threshold_option
@suppress_option
@keep_option
@context_option
@click.option("--scale", type=ScaleFactor(), help="The factor by which a page is scaled for the network; auto scales "
              f"pages whose strokes are much wider or narrower than usual. [default: {INFERENCE.scale}]")  # fmt: skip
@click.option(
    "--invert/--no-invert", default=None, help="Invert pages that are white on black. [default: invert]"
)
@click.option("--auto-rotate/--no-auto-rotate", default=None, cls=RenamedOption, older="--turn/--no-turn",
              help="Rotate pages whose lines run up or down for the network; the result keeps the page's orientation. "
              "[default: auto-rotate]")  # fmt: skip
@click.option("--auto-contrast/--no-auto-contrast", default=None,
              help="Show pages whose ink is pale throughout to the network with more contrast, if the model asks for "
              "it. [default: auto-contrast]")  # fmt: skip
@click.option("--add-noise/--no-add-noise", default=None, cls=RenamedOption, older="--grain/--no-grain",
              help="Add a little noise to pages that are cleaner than any scan, for models that need it. "
              "[default: add-noise]")  # fmt: skip
@click.option("--keep-bilevel/--no-keep-bilevel", default=None, cls=RenamedOption, older="--as-is/--no-as-is",
              help="Keep pages that are already black and white as they are. [default: keep-bilevel]")  # fmt: skip
@click.option(
    "--margins/--no-margins", default=None, help="Remove dark margins of the scan. [default: margins]"
)
@click.option("--despeckle/--no-despeckle", default=None, help="Remove specks, which are pieces of ink smaller than a "
              "fragment of a stroke. [default: no-despeckle]")  # fmt: skip
@click.option("--witness/--no-witness", default=None,
              help="Compare each result with what is dark on its page, and flag what is missing. "
              "[default: witness]")  # fmt: skip
@click.option("--second-look/--no-second-look", default=None,
              help="Show the network once more what the witness misses, at another scale or with shifted windows. "
              "[default: second-look]")  # fmt: skip
@click.option("--restore/--no-restore", default=None,
              help="With --keep all, take what is still missing from the page by a threshold. "
              "[default: restore]")  # fmt: skip
@pictures_option
@click.option(
    "--find-pictures/--no-find-pictures", default=None, help="Find pictures in tone. [default: find-pictures]"
)
@protocol_option()
@click.option(
    "--window", type=int, help=f"The side of the sliding window in pixels. [default: {WINDOWS.window}]"
)
@click.option("--stride", type=int, help="The step of the sliding window in pixels; a smaller one is slower and "
              f"smoother. [default: {WINDOWS.stride}]")  # fmt: skip
@click.option("--precision", type=click.Choice(get_args(Precision)),
              help="The number format of the network; auto is that of the model file. int8 needs a model that "
              "`drmamba export` wrote in int8, and bfloat16 --runtime torch on hardware that computes in it. "
              f"[default: {INFERENCE.precision}]")  # fmt: skip
@device_option
@runtime_option
@workers_option
@max_memory_option
@max_pixels_option
@max_seconds_option
@dpi_option
@click.option("--overwrite", is_flag=True, help="Replace results that exist already.")
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write one line of JSON per page to this file.",
)
@click.option("--engine", "where", type=click.Choice(["local", "ray"]), default="local", show_default=True,
              help="Work on this machine or on a Ray cluster; with ray, PATHS and -o may be URIs such as "
              "s3://bucket/scans.")  # fmt: skip
@click.option("--address", default=SCALE.address, show_default=True,
              help="The Ray cluster: auto, local (which starts one on this machine) or HOST[:PORT].")  # fmt: skip
@click.option("--shard", help="Work on this part of the files only, such as 2/8 for the second of eight. The report "
              "is named after the part.")  # fmt: skip
def command(
    paths: tuple[Path | str, ...],
    output: Path | str | None,
    model: str,
    format_: Any,
    pdf_coding: PdfCoding,
    soft: bool,
    purpose: PurposeName | None,
    threshold: float | None,
    suppress: float | None,
    keep: str | None,
    context: bool | None,
    scale: Any,
    invert: bool | None,
    auto_rotate: bool | None,
    auto_contrast: bool | None,
    add_noise: bool | None,
    keep_bilevel: bool | None,
    margins: bool | None,
    despeckle: bool | None,
    witness: bool | None,
    second_look: bool | None,
    restore: bool | None,
    pictures: str | None,
    find_pictures: bool | None,
    protocol: str,
    window: int | None,
    stride: int | None,
    precision: str | None,
    device: str,
    runtime: Any,
    workers: int,
    max_memory: int,
    max_pixels: int,
    max_seconds: float,
    dpi: int,
    overwrite: bool,
    report: Path | None,
    where: str,
    address: str,
    shard: str | None,
) -> None:
    """Turn scans and folders of scans into black-and-white pages.

    Scans are JPEG, PNG, TIFF, JPEG 2000, WebP, BMP and PDF files, and with the extra `formats` HEIC and JPEG XL.
    The path - stands for standard input; its result goes to standard output unless -o names a file.

    The output folder mirrors the folders of the sources. Results that exist already, from the same source and
    with the same settings, are skipped; to resume a run, give the same command again.
    """
    given = {
        "threshold": threshold,
        "suppress": suppress,
        "keep": keep,
        "context": context,
        "scale": scale,
        "invert": invert,
        "auto_rotate": auto_rotate,
        "auto_contrast": auto_contrast,
        "add_noise": add_noise,
        "keep_bilevel": keep_bilevel,
        "margins": margins,
        "despeckle": despeckle,
        "witness": witness,
        "second_look": second_look,
        "restore": restore,
        "pictures": pictures,
        "find_pictures": find_pictures,
        "precision": precision,
    }
    if purpose and protocol != "default":
        raise click.UsageError(
            f"--for chooses settings, and --protocol {protocol} has its own; give one of them"
        )
    if purpose:
        given = PURPOSES[purpose].under(given)
    config = chosen_settings(protocol, given, window, stride)
    engine = EngineConfig(device=device, runtime=runtime, workers=workers, max_memory=max_memory)
    reading = ReadingConfig(max_pixels=max_pixels, max_seconds=max_seconds, dpi=dpi)

    streams = Streams(paths, output, format_)
    refuse_with_streams(streams, shard=shard, engine=where == "ray", soft=soft and streams.writes)
    click.get_current_context().with_resource(streams)
    paths, output = streams.paths, streams.output

    # Paths are checked before torch is loaded, so that a wrong one is reported at once.
    if report and re.match(r"\w{2,}:/", str(report)):
        raise click.UsageError("--report is a file on this machine, not a URI")
    jobs, stores = _planned(paths, output, format_, shard, where)
    if pictures == "grey" and (other := [job.output.name for job in jobs if job.output.suffix != ".pdf"]):
        raise click.UsageError(f"only PDF pages show pictures in grey, not {other[0]}; give --format pdf")
    if shard and report:
        report = report.with_stem(f"{report.stem}-{shard.replace('/', '-of-')}")
    if report:
        _refuse_report(report, jobs)
    if not stores and isinstance(output, Path):
        _make_folder(output if jobs and jobs[0].output != output else output.parent)
    if not jobs:
        click.echo(f"drmamba: no file falls into shard {shard}", err=True)
        return
    if where == "ray":
        from drmamba.inference.batch import BatchOptions
        from drmamba.scale.ray_batch import RayBatch

        options = BatchOptions(
            overwrite=overwrite, soft=soft, reading=reading, remedy=remedy, pdf_coding=pdf_coding
        )
        scale_out = ScaleConfig(address=address)
        with RayBatch(
            model, config=config, engine=engine, options=options, scale=scale_out, stores=stores, say=_say
        ) as cluster:
            warn_if_untrained(model, cluster.provenance)
            sys.exit(_reported(cluster, jobs, report, resumes=not overwrite))

    from drmamba.inference.batch import Batch, BatchOptions

    binarizer = load_binarizer(model, engine, config)
    if purpose and keep is None:
        binarizer = binarizer.keeping(PURPOSES[purpose].keep)
    options = BatchOptions(
        overwrite=overwrite, soft=soft, reading=reading, remedy=remedy, pdf_coding=pdf_coding
    )
    batch = Batch(binarizer, options)
    code = _reported(batch, jobs, report, resumes=not overwrite, renamed=streams.renamed)
    if code == 0:
        streams.deliver()
    sys.exit(code)


def _planned(
    paths: tuple[Path | str, ...], output: Path | str | None, format_: Any, shard: str | None, where: str
) -> tuple[list[Any], tuple[str, str] | None]:
    """Return the jobs, and the stores that they are in unless they are plain files."""
    from drmamba.inference.jobs import Shard, plan

    part = Shard.parse(shard) if shard else None
    local = [path for path in paths if isinstance(path, Path)]
    if len(local) == len(paths) and not isinstance(output, str):
        return plan(local, output, format_, part), None
    if where != "ray":
        raise click.UsageError("URIs are for --engine ray")
    if len(paths) != 1 or output is None:
        raise click.UsageError(
            "with URIs, give one folder and where its results go: drmamba binarize URI -o URI"
        )
    from drmamba.scale.stores import plan_stores

    return plan_stores(str(paths[0]), str(output), format_, part)


def _say(words: str) -> None:
    click.echo(f"drmamba: {words}", err=True)


def _refuse_report(report: Path, jobs: list[Any]) -> None:
    """Raise if the report would overwrite a scan or a result; `--report scans/*.jpg` names the first scan."""
    from drmamba.errors import InputError

    place = report.resolve()
    if any(p.name == place.name and p.resolve() == place for job in jobs for p in (job.source, job.output)):
        raise InputError(f"{report} is a source or a result; give another name with --report")


def _make_folder(folder: Path) -> None:
    """Make the output folder; an error must come before the work, not after it."""
    from drmamba.errors import InputError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror or error}") from error
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write to the folder {folder}; give another one with -o")


def _reported(
    batch: Batch | RayBatch,
    jobs: list[Any],
    report: Path | None,
    *,
    resumes: bool,
    renamed: Callable[[PageRecord], PageRecord] = lambda record: record,
) -> int:
    """Run the batch and write its report; return the exit code."""
    from drmamba.files import stop_writing
    from drmamba.inference.records import BatchReport

    book = BatchReport(report) if report else None
    try:
        code = _run(batch, jobs, book, resumes, renamed)
    finally:
        if book:
            book.close()
    if code == INTERRUPTED:
        stop_writing()
    if book and book.lost:
        click.echo(f"drmamba: {book.lost}", err=True)
        return code or 1
    return code


def _run(
    batch: Batch | RayBatch,
    jobs: list[Any],
    book: BatchReport | None,
    resumes: bool,
    renamed: Callable[[PageRecord], PageRecord],
) -> int:
    """Run the batch under a progress bar; return the exit code."""
    import signal

    click.echo(f"drmamba: {len(jobs)} files, {batch.place}", err=True)
    progress = Progress(len(jobs), batch)
    again = (
        "the same command resumes"
        if resumes
        else "the same command starts again from the beginning, because of --overwrite"
    )

    def interrupted(*_: object) -> None:
        if batch.stopped:
            raise KeyboardInterrupt
        batch.stop()
        progress.say("stopping after the pages in progress (press Ctrl-C again to stop at once)")

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        for record in map(renamed, batch.run(jobs, progress.tick)):
            if book:
                book.add(record)
            progress.add(record)
        progress.close()
        progress.summary()
        if batch.stopped:
            click.echo(f"drmamba: stopped before the end; {again}.", err=True)
    except KeyboardInterrupt:
        before = signal.SIG_IGN  # A third Ctrl-C must not keep unfinished files from being removed.
        signal.signal(signal.SIGINT, before)
        click.echo(f"drmamba: stopped; nothing half-written is left; {again}.", err=True)
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)
        progress.close()
    if batch.stopped:
        return INTERRUPTED
    return 1 if progress.count["failed"] else 0
