"""The records of finished ablation runs, from which the report is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drmamba import __version__
from drmamba.config import RunConfig, replace_values
from drmamba.errors import ConfigError
from drmamba.experiments.paired import SeedScores
from drmamba.experiments.report import settings
from drmamba.experiments.studies.ablation_tables import AblationRun, as_set_options
from drmamba.experiments.studies.run_records import manifest_digest, read_records, require_same, rounded
from drmamba.files import sha256
from drmamba.metrics import VERSION

FORMAT = 1  # version of the records' format
HELD_OUT, KEPT_OUT = "held_out", "kept_out"  # the two sets of pages that a run is scored on


@dataclass(frozen=True)
class RunRecord:
    """One finished run, as its file says."""

    path: Path
    values: Mapping[str, Any]

    run = property(lambda self: str(self.values["run"]))
    seed = property(lambda self: int(self.values["seed"]))
    held_out = property(lambda self: str(self.values["held_out"]))

    @property
    def usage(self) -> list[Mapping[str, Any]]:
        """What each part of the block is used for, page by page."""
        found: list[Mapping[str, Any]] = self.values["usage"]
        return found


def record_name(run: AblationRun, year: str, seed: int) -> str:
    """The name of a record's file, without its ending; also that of the run's folder."""
    return f"{run.name}-{year}-{seed}"


def make_record(
    base: RunConfig,
    run: AblationRun,
    config: RunConfig,
    scores: Mapping[str, Any],
    kept_out: Sequence[Mapping[str, Any]],
    usage: Sequence[Mapping[str, Any]],
    manifest: Path,
) -> dict[str, Any]:
    """Return the record of a run: `base` are the settings that all rows share, `config` those of this run."""
    init = config.source.init
    return {
        "format": FORMAT,
        "drmamba": __version__,
        "metrics_version": VERSION,
        "run": run.name,
        "title": run.title,
        "changes": as_set_options(run.changes),
        "seed": config.train.seed,
        "held_out": config.source.hold_out,
        "kept_out": list(config.data.validate_on),
        "updates": scores["steps"],
        "minutes": scores["minutes"],
        "manifest": manifest_digest(manifest),
        "init_sha256": sha256(init) if init else None,
        # Neither the seed nor the held-out year is common to all.
        "base": settings(replace_values(base, {"train": {"seed": 0}, "source": {"hold_out": None}})),
        "config": settings(config),
        "pages": {HELD_OUT: rounded(scores["pages"]), KEPT_OUT: rounded(kept_out)},
        "usage": list(usage),
    }


def read_ablations(folder: Path) -> list[RunRecord]:
    """Return the records of a folder; records that cannot be compared are an error that names the difference.

    Settings that are newer than a record had their default value when it was made.
    """
    found = read_records(folder, "an ablation", FORMAT, "drmamba ablate")
    records = [
        RunRecord(path, {**values, "base": settings(RunConfig.from_dict(values["base"]))})
        for path, values in found.items()
    ]
    _check_comparable(records)
    return records


def _check_comparable(records: Sequence[RunRecord]) -> None:
    """Raise unless all runs differ in nothing but their row, seed and held-out year."""
    first = records[0]
    manifests: dict[tuple[str, int], RunRecord] = {}
    starts: dict[str, RunRecord] = {}
    for record in records:
        require_same(
            record.path, record.values, first.path, first.values, ("base", "metrics_version", "updates")
        )
        twin = manifests.setdefault((record.held_out, record.seed), record)
        if twin.values["manifest"] != record.values["manifest"]:
            raise ConfigError(f"{record.path} was trained or scored on other pages than {twin.path}")
        if record.values["init_sha256"]:
            start = starts.setdefault("", record)
            if start.values["init_sha256"] != record.values["init_sha256"]:
                raise ConfigError(f"{record.path} started from another model than {start.path}")


def page_scores(records: Sequence[RunRecord], run: str, pages: str, measure: str) -> SeedScores:
    """One measure of a run by seed and page; a page that several folds kept out has the mean of them."""
    found: dict[int, dict[tuple[str, str], list[float]]] = {}
    for record in records:
        if record.run == run:
            by_page = found.setdefault(record.seed, {})
            for page in record.values["pages"][pages]:
                by_page.setdefault((page["year"], page["name"]), []).append(float(page[measure]))
    return {
        seed: {page: sum(values) / len(values) for page, values in by_page.items()}
        for seed, by_page in found.items()
        if by_page
    }
