"""The records of finished folds, so that folds from several machines end in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from drmamba import __version__
from drmamba.config import RunConfig, replace_values
from drmamba.errors import ConfigError
from drmamba.experiments.baselines import library_version
from drmamba.experiments.report import machine, settings
from drmamba.experiments.studies.leave_one_out_report import DEFAULT_KEY
from drmamba.experiments.studies.run_records import (
    manifest_digest,
    read_record,
    read_records,
    record_path,
    require_same,
)
from drmamba.files import sha256
from drmamba.metrics import VERSION

FORMAT = 1  # version of the records' format
STUDY = "a fold of leave-one-year-out"
COMMON = ("config", "metrics_version", "init_sha256")  # what folds of one study have in common


def make_fold_record(
    config: RunConfig,
    scores: Mapping[str, Any],
    default: Mapping[str, float],
    classical: Mapping[str, Any],
    years: Sequence[str],
    manifest: Path,
) -> dict[str, Any]:
    """Return the record of a fold: `years` are all years of the data, `default` the scores by the default protocol."""
    return {
        "format": FORMAT,
        "drmamba": __version__,
        "held_out": config.source.hold_out,
        "years": list(years),
        "machine": machine(),
        **_common(config),
        "manifest": manifest_digest(manifest),
        "steps": scores["steps"],
        "minutes": scores["minutes"],
        "mean": scores["mean"],
        "pages": scores["pages"],
        DEFAULT_KEY: dict(default),
        "classical": dict(classical),
        "classical_library": library_version() if classical else None,
    }


def _common(config: RunConfig) -> dict[str, Any]:
    """Return what folds have in common: the settings without the held-out year, and the model they start from."""
    init = config.source.init
    return {
        "config": settings(replace_values(config, {"source": {"hold_out": None}})),
        "metrics_version": VERSION,
        "init_sha256": sha256(init) if init else None,
    }


def read_fold(folder: Path, config: RunConfig) -> dict[str, Any] | None:
    """Return the record of this fold, or None if there is none; one with other settings is an error."""
    path = record_path(folder, config.source.hold_out or "none")
    if not path.is_file():
        return None
    found = read_record(path, STUDY, FORMAT)
    require_same(path, found, Path("this command"), _common(config), COMMON)
    return found


def read_folds(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the records of a folder by year; records that cannot be compared are an error."""
    found = read_records(folder, STUDY, FORMAT, "drmamba loo")
    (first, others), *_ = found.items()
    folds: dict[str, dict[str, Any]] = {}
    for path, values in found.items():
        require_same(path, values, first, others, COMMON)
        year = str(values["held_out"])
        if year in folds:
            raise ConfigError(f"{path} is a second record of {year}; move one of them elsewhere")
        folds[year] = values
    return dict(sorted(folds.items()))
