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
from drmamba.experiments.studies.leave_one_out_report import DEFAULT_KEY, FoldScores, write_results
from drmamba.experiments.studies.run_series import RunLauncher, Say, TrainingJob, run_series
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
    launcher: RunLauncher,
    say: Say,
    wanted: Sequence[str] = (),
    beside: Sequence[str] = (),
    chosen_on: Sequence[str] = (),
) -> Iterator[dict[str, FoldScores]]:
    """Run every fold; after each, write results.json, table.md and plot.png and yield the scores so far.

    `beside` names classical methods to score on the same pages. `chosen_on` names the years that the recipe
    was chosen on: the table marks them and adds an average without them.
    """
    known_years(config, chosen_on)  # An error must come now, not after the first fold.
    jobs = folds(config, root, wanted)
    pairs = find_pairs(config.source.data)
    if beside:
        library_version()  # An error must come now, not after the first fold.
    done: dict[str, FoldScores] = {}
    for job, scores in run_series(jobs, launcher, say):
        pages = [pair for pair in pairs if pair.year == job.name]
        others = classical_means(pages, beside, job.folder / "classical.json") if beside else {}
        model = RunDirectory(job.folder).model
        default = default_means(model, pages, job.folder / STORED, launcher.device)
        done[job.name] = {**scores, "classical": others, DEFAULT_KEY: default}
        write_results(root, config, done, len(jobs), chosen_on)
        yield done
