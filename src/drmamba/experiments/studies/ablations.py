"""The runs that fill ablation tables: trained, scored on held-out and kept-out years, and recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from drmamba import checkpoint
from drmamba.config import EngineConfig, RunConfig, replace_values
from drmamba.data.dibco import find_pairs
from drmamba.errors import ConfigError
from drmamba.experiments.studies.ablation_records import make_record, record_name
from drmamba.experiments.studies.ablation_tables import AblationRun
from drmamba.experiments.studies.run_records import DIGITS, record_path, write_record
from drmamba.experiments.studies.run_series import RunLauncher, Say, TrainingJob
from drmamba.files import FileLock
from drmamba.inference.explain.usage import route_usage
from drmamba.training.run_data import evaluation_pages
from drmamba.training.run_directory import RunDirectory
from drmamba.training.scoring import VALIDATION_CONFIG, final_scores


@dataclass(frozen=True)
class AblationJob:
    """One run of an ablation: its row's changes, its seed and held-out year, and its record."""

    run: AblationRun
    training: TrainingJob
    record: str  # name of the record's file, without its ending


def fair_config(config: RunConfig) -> RunConfig:
    """Return the settings that all rows share, or raise if they would not be compared fairly."""
    if config.train.max_minutes:
        raise ConfigError(
            "rows are compared after the same number of updates, not after the same time; "
            "replace --max-minutes by, for example, --set train.steps=1200"
        )
    # Each thread of a run has batch statistics of its own, so their number may not depend on the machine's cores.
    return config if config.train.threads else replace_values(config, {"train": {"threads": 1}})


def jobs(
    config: RunConfig, root: Path, runs: Sequence[AblationRun], years: Sequence[str], seeds: Sequence[int]
) -> list[AblationJob]:
    """Return the jobs seed by seed, so that an interrupted series has whole pairs first."""
    found = []
    for seed in seeds:
        for run in runs:
            for year in years:
                own = {"source": {"hold_out": year}, "train": {"seed": seed}}
                name = record_name(run, year, seed)
                changed = replace_values(run.apply(config), own)
                found.append(AblationJob(run, TrainingJob(name, changed, root / "runs" / name), name))
    return found


def ablate(
    config: RunConfig,
    root: Path,
    todo: Sequence[AblationJob],
    records: Path,
    launcher: RunLauncher,
    say: Say,
    usage_on: Sequence[str] = (),
) -> Iterator[AblationJob]:
    """Train, score and record every job; yield each when its record exists.

    A job that another process works on is left to it, so that the same command can be started once for each core.
    """
    locks = root / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    for number, job in enumerate(todo, 1):
        if record_path(records, job.record).is_file():
            yield job
            continue
        lock = FileLock(locks / job.record)
        if not lock.acquire():
            say(f"run {number} of {len(todo)}: {job.record} is left to another process")
            continue
        with lock:
            say(f"run {number} of {len(todo)}: {job.record} ({job.run.title})")
            scores = launcher.run(job.training)
            if scores is None:
                return
            write_record(records, job.record, _record(config, job, scores, usage_on, launcher.device))
        yield job


def _record(
    config: RunConfig, job: AblationJob, scores: dict[str, object], usage_on: Sequence[str], device: str
) -> dict[str, object]:
    """Score the kept-out years by the paper's protocol, measure the routes, and return the record."""
    own, folder = job.training.config, RunDirectory(job.training.folder)
    network, _ = checkpoint.load(folder.model)
    network.eval()
    pairs = find_pairs(own.source.data)
    kept = evaluation_pages([pair for pair in pairs if pair.year in own.data.validate_on])
    found = final_scores(network, kept, device=device)["pages"] if kept else []
    measured = evaluation_pages([pair for pair in pairs if pair.year in usage_on])
    parts = route_usage(
        network, [page.read for page in measured], VALIDATION_CONFIG, EngineConfig(device=device)
    )
    usage = [
        {"year": page.year, "name": page.name, **{k: _short(v) for k, v in asdict(part).items()}}
        for page, all_parts in zip(measured, parts, strict=True)
        for part in all_parts
    ]
    return make_record(config, job.run, own, scores, found, usage, folder.manifest)


def _short(value: object) -> object:
    return round(value, DIGITS) if isinstance(value, float) else value
