"""`drmamba binarize`: archival pages in, archival pages out."""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from drmamba.cli import INTERRUPTED
from drmamba.cli.network import loaded, tell_untrained
from drmamba.cli.remedies import remedy
from drmamba.config import (
    PROTOCOLS,
    EngineConfig,
    InferenceConfig,
    Keep,
    Precision,
    ReadingConfig,
    ScaleConfig,
    WindowConfig,
)

if TYPE_CHECKING:
    from drmamba.inference.batch import Batch
    from drmamba.inference.records import BatchReport, PageRecord
    from drmamba.scale.ray_batch import RayBatch

DEFAULT, ENGINE, READING, SCALE = InferenceConfig(), EngineConfig(), ReadingConfig(), ScaleConfig()
NAMED = 10  # flagged pages whose names a run ends with
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}


class Bytes(click.ParamType[int]):
    """A size such as 1500MB, 2GB or 1.5GiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes as a number."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"\s*([\d.]+)\s*([kmg]i?)?b?\s*", str(value).lower())
        try:
            return int(float(match[1]) * UNITS[match[2] or ""]) if match else self.fail("", param, ctx)
        except (ValueError, click.UsageError):
            self.fail(f"{value!r} is not a size; write it like 1500MB or 2GB", param, ctx)


class Place(click.ParamType[Any]):
    """A path, or the URI of a place in a store, which stays text."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | str:  # noqa: ARG002
        """A Path, or a str with a scheme."""
        return str(value) if "://" in str(value) else Path(value)


class Scale(click.ParamType[Any]):
    """A number, or auto."""

    name = "auto|number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        """A float or "auto"."""
        if value == "auto":
            return "auto"
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither auto nor a number", param, ctx)


@click.command()
@click.argument("paths", nargs=-1, required=True, type=Place())
@click.option(
    "-o", "--output", type=Place(), help="A folder, or a file name for one source. "
    "Without it results stand beside their sources as NAME.bin.png."
)  # fmt: skip
@click.option("--model", default="lite", show_default=True,
              help="A preset's name, a file (.safetensors, .onnx) or a Hub id.")  # fmt: skip
@click.option(
    "--format", "format_", type=click.Choice(["png", "tiff", "pdf", "same"]), default="png",
    show_default=True,
    help="Of the results; same: TIFF and PDF stay what they are, pages together, all else becomes PNG.",
)  # fmt: skip
@click.option("--soft", is_flag=True, help="Also write the probability of ink as NAME.soft.png (8 bits).")
@click.option(
    "--threshold", type=float, help=f"Of the probability, above which is ink. [default: {DEFAULT.threshold}]"
)
@click.option("--suppress", type=float, help=f"Strength of the background's suppression: 0 none, "
              f"1 the model's own, above 1 stronger. [default: {DEFAULT.suppress}]")  # fmt: skip
@click.option("--keep", type=click.Choice(get_args(Keep)), help="Which marks stay: text keeps writing alone, "
              "all keeps rules, frames, stamps and drawings as well. The model must have learned both. "
              f"[default: {DEFAULT.keep}]")  # fmt: skip
@click.option("--context/--no-context", default=None,
              help="Show the network the whole page, reduced, beside each window. A model without page context "
              "ignores it. [default: context]")  # fmt: skip
@click.option("--scale", type=Scale(), help="Of the page as the network sees it; auto acts when strokes are "
              f"far wider or narrower than usual. [default: {DEFAULT.scale}]")  # fmt: skip
@click.option("--invert/--no-invert", default=None, help="Turn white-on-black pages round. [default: invert]")
@click.option("--auto-rotate/--no-auto-rotate", default=None,
              help="Rotate pages whose lines run up or down before inference. The result lies as the page does. "
              "[default: auto-rotate]")  # fmt: skip
@click.option("--add-noise/--no-add-noise", default=None,
              help="Add noise before inference to pages that are cleaner than any scan of paper. "
              "[default: add-noise]")  # fmt: skip
@click.option("--keep-bilevel/--no-keep-bilevel", default=None,
              help="Keep pages that are black and white already as they are. [default: keep-bilevel]")  # fmt: skip
@click.option("--turn/--no-turn", default=None, hidden=True)  # former names, for one version
@click.option("--grain/--no-grain", default=None, hidden=True)
@click.option("--as-is/--no-as-is", default=None, hidden=True)
@click.option("--margins/--no-margins", default=None, help="Take dark scan margins away. [default: margins]")
@click.option(
    "--protocol", type=click.Choice(list(PROTOCOLS)), default="everyday", show_default=True,
    help="paper: window 512, stride 256, and nothing but the network.",
)  # fmt: skip
@click.option("--window", type=int, help=f"Side of the sliding window. [default: {WindowConfig().window}]")
@click.option("--stride", type=int, help=f"Step of the sliding window: less is slower and smoother. "
              f"[default: {WindowConfig().stride}]")  # fmt: skip
@click.option("--precision", type=click.Choice(get_args(Precision)),
              help="Of the network; bfloat16 is faster where the hardware has it. [default: float32]")  # fmt: skip
@click.option("--device", default=ENGINE.device, show_default=True, help="auto, cpu, cuda, cuda:1, ...")
@click.option("--runtime", type=click.Choice(["auto", "torch", "onnx"]), default=ENGINE.runtime,
              show_default=True, help="What runs the network; auto: onnx for .onnx files, else torch.")  # fmt: skip
@click.option(
    "--workers", type=int, default=ENGINE.workers, help="Windows at once on the CPU. [default: one a core]"
)
@click.option("--max-memory", type=Bytes(), default=ENGINE.max_memory, help="Of all processes together, e.g. "
              f"1500MB. [default: {ENGINE.max_memory / 1e9:g}GB]")  # fmt: skip
@click.option("--max-pixels", type=int, default=READING.max_pixels, show_default=True,
              help="A page that declares more is refused before it is decoded.")  # fmt: skip
@click.option(
    "--dpi", type=int, default=READING.dpi, show_default=True, help="Of PDF pages that are not scans."
)
@click.option("--overwrite", is_flag=True, help="Make existing results anew.")
@click.option(
    "--report", type=click.Path(path_type=Path, dir_okay=False), help="A JSONL file, one line a page."
)
@click.option("--engine", "where", type=click.Choice(["local", "ray"]), default="local", show_default=True,
              help="ray: on a Ray cluster; PATHS and -o may then be URIs, such as s3://bucket/scans.")  # fmt: skip
@click.option("--address", default=SCALE.address, show_default=True,
              help="Of the Ray cluster: auto, local (a new one on this machine) or HOST[:PORT].")  # fmt: skip
@click.option("--shard", help="Only this part of the files, e.g. 2/8: the second of eight. Its report is "
              "named after it.")  # fmt: skip
def command(
    paths: tuple[Path | str, ...],
    output: Path | str | None,
    model: str,
    format_: Any,
    soft: bool,
    threshold: float | None,
    suppress: float | None,
    keep: str | None,
    context: bool | None,
    scale: Any,
    invert: bool | None,
    auto_rotate: bool | None,
    add_noise: bool | None,
    keep_bilevel: bool | None,
    turn: bool | None,
    grain: bool | None,
    as_is: bool | None,
    margins: bool | None,
    protocol: str,
    window: int | None,
    stride: int | None,
    precision: str | None,
    device: str,
    runtime: Any,
    workers: int,
    max_memory: int,
    max_pixels: int,
    dpi: int,
    overwrite: bool,
    report: Path | None,
    where: str,
    address: str,
    shard: str | None,
) -> None:
    """Turn scans (JPEG, PNG, TIFF, JPEG 2000, WebP, BMP, PDF) and folders of them into black-and-white pages.

    Folders are mirrored below the output. Results that are there already, from the same source and with the
    same settings, are skipped: to resume a run, give the same command again.
    """
    given = {
        "threshold": threshold,
        "suppress": suppress,
        "keep": keep,
        "context": context,
        "scale": scale,
        "invert": invert,
        "auto_rotate": turn if auto_rotate is None else auto_rotate,
        "add_noise": grain if add_noise is None else add_noise,
        "keep_bilevel": as_is if keep_bilevel is None else keep_bilevel,
        "margins": margins,
        "precision": precision,
    }
    config = replace(
        PROTOCOLS[protocol], **{name: value for name, value in given.items() if value is not None}
    )
    if window is not None or stride is not None:
        side = config.windows.window if window is None else window
        step = min(config.windows.stride, side) if stride is None else stride
        config = replace(config, windows=replace(config.windows, window=side, stride=step))
    engine = EngineConfig(device=device, runtime=runtime, workers=workers, max_memory=max_memory)
    reading = ReadingConfig(max_pixels=max_pixels, dpi=dpi)

    # Before torch is loaded: a wrong path is told at once.
    if report and re.match(r"\w{2,}:/", str(report)):
        raise click.UsageError("--report is a file on this machine, not a URI")
    jobs, stores = _planned(paths, output, format_, shard, where)
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

        options = BatchOptions(overwrite=overwrite, soft=soft, reading=reading, remedy=remedy)
        scale_out = ScaleConfig(address=address)
        with RayBatch(
            model, config=config, engine=engine, options=options, scale=scale_out, stores=stores, say=_say
        ) as cluster:
            tell_untrained(model, cluster.provenance)
            sys.exit(_reported(cluster, jobs, report, resumes=not overwrite))

    from drmamba.inference.batch import Batch, BatchOptions

    binarizer = loaded(model, engine, config)
    options = BatchOptions(overwrite=overwrite, soft=soft, reading=reading, remedy=remedy)
    batch = Batch(binarizer, options)
    sys.exit(_reported(batch, jobs, report, resumes=not overwrite))


def _planned(
    paths: tuple[Path | str, ...], output: Path | str | None, format_: Any, shard: str | None, where: str
) -> tuple[list[Any], tuple[str, str] | None]:
    """The jobs, and the stores they are in if they are no plain files."""
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
    """A report must not be written over a scan or a result: `--report scans/*.jpg` names the first scan."""
    from drmamba.errors import InputError

    place = report.resolve()
    if any(p.name == place.name and p.resolve() == place for job in jobs for p in (job.source, job.output)):
        raise InputError(f"{report} is a source or a result; give another name with --report")


def _make_folder(folder: Path) -> None:
    """Make the output folder now: whether it can be written to is told before the work, not after."""
    from drmamba.errors import InputError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror or error}") from error
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write to the folder {folder}; give another one with -o")


def _reported(batch: Batch | RayBatch, jobs: list[Any], report: Path | None, *, resumes: bool) -> int:
    """Run the batch and keep its report; the exit code."""
    from drmamba.inference.records import BatchReport

    book = BatchReport(report) if report else None
    try:
        code = _run(batch, jobs, book, resumes)
    finally:
        if book:
            book.close()
    if book and book.lost:
        click.echo(f"drmamba: {book.lost}", err=True)
        return code or 1
    return code


def _run(batch: Batch | RayBatch, jobs: list[Any], book: BatchReport | None, resumes: bool) -> int:
    """Run the batch under a progress bar; the exit code."""
    import signal

    click.echo(f"drmamba: {len(jobs)} files, {batch.place}", err=True)
    progress = Progress(len(jobs), batch)
    again = "the same command resumes" if resumes else "the same command begins anew, as --overwrite says"

    def interrupted(*_: object) -> None:
        if batch.stopped:
            raise KeyboardInterrupt
        batch.stop()
        progress.say("stopping after the pages in hand (Ctrl-C again: at once)")

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        for record in batch.run(jobs, progress.tick):
            if book:
                book.add(record)
            progress.add(record)
        progress.close()
        progress.summary()
        if batch.stopped:
            click.echo(f"drmamba: stopped before the end; {again}.", err=True)
    except KeyboardInterrupt:
        click.echo(f"drmamba: stopped; nothing half-written is left; {again}.", err=True)
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)
        progress.close()
    if batch.stopped:
        return INTERRUPTED
    return 1 if progress.count["failed"] else 0


class Progress:
    """A bar on a terminal, a line now and then elsewhere; errors as they come."""

    QUIET = 10.0  # seconds between two lines

    def __init__(self, files: int, batch: Batch | RayBatch) -> None:
        from tqdm import tqdm

        self.batch = batch
        self.files, self.started, self.told = files, time.monotonic(), time.monotonic()
        self.count: Counter[str] = Counter()
        self.flags: Counter[str] = Counter()
        self.doubtful: list[str] = []
        self.flagged = self.megapixels = self.seen = 0.0
        self.bar = tqdm(total=files, unit="file", disable=not sys.stderr.isatty(), file=sys.stderr)

    def say(self, words: str) -> None:
        """A line above the bar."""
        self.bar.write(f"drmamba: {words}", file=sys.stderr)

    def add(self, record: PageRecord) -> None:
        """Count a page."""
        from drmamba.inference.quality import UNREMARKABLE

        self.count[record.status] += 1
        self.megapixels += record.megapixels
        self.flags.update(record.flags)
        if doubts := [flag for flag in record.flags if flag not in UNREMARKABLE]:
            self.flagged += 1
            if self.flagged <= NAMED:
                page = f", page {record.page}" if record.pages > 1 else ""
                self.doubtful.append(f"{record.input}{page}: {', '.join(doubts)}")
        if record.error:
            self.say(record.error)
        if record.last:
            self.seen += 1
            self.bar.update()
        self.tick()

    def tick(self) -> None:
        """Show how far the run is, also in the middle of a long page."""
        words = f"{sum(self.count.values())} pages, {self.rate():.2f} MP/s"
        if not self.bar.disable:
            self.bar.set_postfix_str(words)
            return
        now = time.monotonic()
        if now - self.told < self.QUIET:
            return
        self.told = now
        left = (now - self.started) / max(1, self.seen) * (self.files - self.seen) / 60
        hours = f", {left:.0f} min left" if self.seen else ""
        click.echo(f"drmamba: {self.seen:.0f} of {self.files} files, {words}{hours}", err=True)

    def rate(self) -> float:
        """Megapixels binarized a second; before the first page is done, what the network has seen."""
        done = self.megapixels or self.batch.megapixels
        return done / max(1e-9, time.monotonic() - self.started)

    def close(self) -> None:
        """Remove the bar."""
        self.bar.close()

    def summary(self) -> None:
        """What was done, and what to look at."""
        seconds = time.monotonic() - self.started
        parts = [f"{self.count[name]} {name}" for name in ("done", "skipped", "failed")]
        words = ", ".join([*parts, f"{self.flagged:.0f} flagged"])
        click.echo(
            f"drmamba: {words}; {self.megapixels:.1f} MP in {seconds:.1f} s, {self.rate():.2f} MP/s", err=True
        )
        for line in self.doubtful:
            click.echo(f"drmamba: look at {line}", err=True)
        if self.flagged > NAMED:
            click.echo(
                f"drmamba: and {self.flagged - NAMED:.0f} more; --report FILE names them all", err=True
            )
        if self.flags:
            listed = ", ".join(f"{flag} {number}" for flag, number in self.flags.most_common())
            click.echo(f"drmamba: flags: {listed}", err=True)
