"""Records of finished training runs: small JSON files that can be committed, and that reports are made from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from drmamba.errors import ConfigError
from drmamba.experiments.report import CONTEST, as_json, write_text

DIGITS = 4  # decimals of the scores in a record


def rounded(pages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the contest's measures of each page."""
    return [
        {"year": page["year"], "name": page["name"], **{m: round(float(page[m]), DIGITS) for m in CONTEST}}
        for page in pages
    ]


def manifest_digest(path: Path) -> str:
    """Return a digest of the role and content of every page of a run, wherever the files lie."""
    facts = ("role", "year", "name", "image_sha256", "truth_sha256")
    lines = sorted(" ".join(page[fact] for fact in facts) for page in json.loads(path.read_text())["pages"])
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def record_path(folder: Path, name: str) -> Path:
    """Return the file of a record."""
    return folder / f"{name}.json"


def write_record(folder: Path, name: str, values: Mapping[str, Any]) -> None:
    """Write a record to its file."""
    write_text(record_path(folder, name), as_json(values))


def read_record(path: Path, what: str, version: int) -> dict[str, Any]:
    """Return a record; `what` says in an error of which study it should be, and `version` is the format's."""
    try:
        values = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not a record of {what}: {error}") from error
    if not isinstance(values, dict) or values.get("format") != version:
        raise ConfigError(f"{path} is not a record of {what}; move it elsewhere")
    return values


def read_records(folder: Path, what: str, version: int, command: str) -> dict[Path, dict[str, Any]]:
    """Return the records of a folder by their files, in the order of their names; none is an error."""
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}; `{command}` writes records to RUN/records")
    found = {path: read_record(path, what, version) for path in sorted(folder.glob("*.json"))}
    if not found:
        raise ConfigError(f"there is no record of {what} in {folder}")
    return found


def require_same(
    path: Path, values: Mapping[str, Any], first: Path, others: Mapping[str, Any], names: Sequence[str]
) -> None:
    """Raise if two records differ in one of these values; the error names the setting that differs."""
    for name in names:
        if values[name] != others[name]:
            what = _difference(others[name], values[name], name)
            raise ConfigError(f"{path} cannot be compared with {first}: {what}")


def _difference(one: Any, other: Any, name: str) -> str:
    """Return the first setting that differs, with both values."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}):
            if one.get(key) != other.get(key):
                return _difference(one.get(key), other.get(key), f"{name}.{key}")
    return f"{name} is {other!r} and not {one!r}"
