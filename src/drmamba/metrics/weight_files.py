"""Weight maps in the contest's own files, `<name>_RWeights.dat` and `<name>_PWeights.dat`.

They are text: the values row by row with six decimals and two spaces after each, without line breaks. Files compressed
with gzip (`.dat.gz`) are read too.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drmamba.errors import MetricError
from drmamba.files import write_atomic
from drmamba.metrics.skeleton import Mask
from drmamba.metrics.weights import Weights, weight_maps

WIDEST = 64  # largest number of bytes of text per value


def weight_paths(folder: Path, name: str) -> tuple[Path, Path]:
    """The paths of the recall and precision maps of a page."""
    return folder / f"{name}_RWeights.dat", folder / f"{name}_PWeights.dat"


def write_weights(folder: Path | str, name: str, weights: Weights) -> None:
    """Write both maps of a page as the contest's tool does."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for path, values in zip(weight_paths(folder, name), (weights.recall, weights.precision), strict=True):
        known, places = np.unique(values, return_inverse=True)
        words = np.array([f"{value:.6f}  ".encode() for value in known.tolist()])
        # All words have the same length, because no value reaches 10.
        write_atomic(path, words[places].tobytes())


def read_weights(folder: Path | str, name: str, truth: Mask) -> Weights | None:
    """The stored maps of a page, or None if there are none; raises if they do not fit its ground truth."""
    paths = [_existing(path) for path in weight_paths(Path(folder), name)]
    if paths == [None, None]:
        return None
    for path, wanted in zip(paths, weight_paths(Path(folder), name), strict=True):
        if path is None:
            raise MetricError(f"{wanted} is missing, although the other weight map of {name} exists")
    recall, precision = (_read(path, truth) for path in paths if path)
    if recall[~truth].any() or precision[truth].any():
        raise MetricError(f"{paths[0]} and {paths[1]} were made for another ground truth; delete them")
    return Weights(recall, precision)


def stored_weights(folder: Path | str, name: str, truth: Mask) -> Weights:
    """The stored maps of a page, which are computed and stored if they do not exist yet."""
    weights = read_weights(folder, name, truth)
    if weights is None:
        weights = weight_maps(truth)
        write_weights(folder, name, weights)
    return weights


def _existing(path: Path) -> Path | None:
    return next((p for p in (path, path.with_name(f"{path.name}.gz")) if p.is_file()), None)


def _read(path: Path, truth: Mask) -> NDArray[np.float32]:
    most = truth.size * WIDEST
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            text = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise MetricError(f"{path} cannot be read: {error}") from error
    try:
        values = np.array(text.split(), dtype=np.float32) if len(text) <= most else np.empty(0, np.float32)
    except ValueError as error:
        raise MetricError(f"{path} is not a weight map: {error}") from error
    if values.size != truth.size:
        height, width = truth.shape
        raise MetricError(
            f"{path} does not hold the {truth.size} values of a page of {width} x {height} pixels"
        )
    if not (values >= 0).all() or not np.isfinite(values).all():
        raise MetricError(f"{path} holds values that are not weights (negative, infinite or not a number)")
    return values.reshape(truth.shape)
