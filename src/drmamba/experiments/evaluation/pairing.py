"""Which prediction on disk belongs to which ground truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath

from drmamba.data.layout import classify, natural
from drmamba.errors import DataError


@dataclass(frozen=True)
class Case:
    """A prediction and the ground truth it is scored against."""

    name: str
    prediction: Path
    truth: Path


@dataclass(frozen=True)
class Pairing:
    """Predictions with their ground truths, and the files that have no partner."""

    cases: list[Case]
    missing: list[Path]  # ground truths without a prediction
    extra: list[Path]  # predictions without a ground truth


def pair(predictions: Path, truths: Path) -> Pairing:
    """Match two files, or the files of two folders by their names without the ending.

    Parts of a name that only say what a file is are ignored: `H01_GT.bmp` is the ground truth of `H01.png`
    and of `H01.bin.png`.
    """
    for path in (predictions, truths):
        if not path.exists():
            raise DataError(f"{path} does not exist")
    if predictions.is_file() and truths.is_file():
        return Pairing([Case(predictions.stem, predictions, truths)], [], [])
    if predictions.is_file() or truths.is_file():
        raise DataError(f"give two files or two folders: {predictions} and {truths} are one of each")
    wanted = _by_name(truths, {})
    found = _by_name(predictions, wanted)
    cases = [Case(name, found[name], wanted[name]) for name in wanted if name in found]
    if not cases:
        raise DataError(f"no image in {predictions} has the name of one in {truths}; names must agree")
    return Pairing(
        cases,
        missing=[path for name, path in wanted.items() if name not in found],
        extra=[path for name, path in found.items() if name not in wanted],
    )


def _by_name(folder: Path, known: dict[str, Path]) -> dict[str, Path]:
    """Return the images of a folder by name, in natural order; a name in `known` is not shortened."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir(), key=lambda p: natural(p.name)):
        sort = classify(PurePath(path.name))
        if sort is None or not path.is_file():
            continue
        names = (path.stem, path.stem.removesuffix(".bin"), sort[1])
        name = next((n for n in names if n in known), names[1] if known else names[2])
        if name in found:
            raise DataError(f"{found[name]} and {path} have the same name; keep one of them")
        found[name] = path
    if not found:
        below = " (there are folders in it: a folder of years is for `drmamba benchmark`)"
        nested = any(child.is_dir() for child in folder.iterdir())
        raise DataError(f"{folder} holds no images{below if nested else ''}")
    return found
