"""Leave one year out: one run for every year, each scored on the year that it never saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from drmamba.config import RunConfig, replace_values
from drmamba.data.dibco import find_pairs, years
from drmamba.errors import DataError
from drmamba.experiments.baselines import library_version
from drmamba.experiments.studies.classical_means import classical_means
from drmamba.experiments.studies.default_means import STORED, default_means
from drmamba.experiments.studies.fold_records import make_fold_record, read_fold, read_folds
from drmamba.experiments.studies.leave_one_out_report import FoldScores, write_results
from drmamba.experiments.studies.run_records import write_record
from drmamba.experiments.studies.run_series import RunLauncher, Say, TrainingJob
from drmamba.files import FileLock
from drmamba.training.run_directory import RunDirectory


def folds(config: RunConfig, root: Path, wanted: Sequence[str] = ()) -> list[TrainingJob]:
    """Return a job for every year of the data, or for the wanted years."""
    kept = set(config.data.validate_on)
    known = known_years(config, wanted)
    chosen = [year for year in wanted or known if year not in kept]
    return [
        TrainingJob(year, replace_values(config, {"source": {"hold_out": year}}), root / year)
        for year in chosen
    ]


def known_years(config: RunConfig, wanted: Sequence[str] = ()) -> list[str]:
    """Return the years of the data; raise unless every wanted year is among them."""
    known = list(years(find_pairs(config.source.data)))
    for year in wanted:
        if year not in known:
            raise DataError(f"there is no year {year} in {config.source.data}; there are {', '.join(known)}")
    return known


def leave_one_out(
    config: RunConfig,
    root: Path,
    records: Path,
    launcher: RunLauncher,
    say: Say,
    wanted: Sequence[str] = (),
    beside: Sequence[str] = (),
    chosen_on: Sequence[str] = (),
) -> Iterator[dict[str, FoldScores]]:
    """Run every fold; after each, write its record, results.json, table.md and plot.png and yield all records so far.

    A fold that another process works on is left to it, so that the same command can be started once for each core.
    `beside` names classical methods to score on the same pages. `chosen_on` names the years that the recipe
    was chosen on: the table marks them and adds an average without them.
    """
    years = known_years(config, chosen_on)  # An error must come now, not after the first fold.
    jobs = folds(config, root, wanted)
    if beside:
        library_version()  # An error must come now, not after the first fold.
    locks = root / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    for number, job in enumerate(jobs, 1):
        if read_fold(records, job.config) is None:
            lock = FileLock(locks / job.name)
            if not lock.acquire():
                say(f"fold {number} of {len(jobs)}: {job.name} is left to another process")
                continue
            with lock:
                say(f"fold {number} of {len(jobs)}: {job.name} in {job.folder}")
                scores = launcher.run(job)
                if scores is None:
                    return
                write_record(records, job.name, _record(job, scores, beside, years, launcher.device))
        done = read_folds(records)
        write_results(root, done, chosen_on)
        yield done


def _record(
    job: TrainingJob, scores: FoldScores, beside: Sequence[str], years: Sequence[str], device: str
) -> FoldScores:
    """Score the held-out year by the default protocol and by the classical methods, and return the fold's record."""
    folder = RunDirectory(job.folder)
    pages = [pair for pair in find_pairs(job.config.source.data) if pair.year == job.name]
    classical = classical_means(pages, beside, job.folder / "classical.json") if beside else {}
    default = default_means(folder.model, pages, job.folder / STORED, device)
    return make_fold_record(job.config, scores, default, classical, years, folder.manifest)


def report(records: Path, root: Path, chosen_on: Sequence[str] = ()) -> str:
    """Write results.json, table.md and plot.png from records alone; return the table."""
    done = read_folds(records)
    for year in chosen_on:
        if year not in done:
            raise DataError(f"there is no record of {year} in {records}; there are {', '.join(done)}")
    return write_results(root, done, chosen_on)
