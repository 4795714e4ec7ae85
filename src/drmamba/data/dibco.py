"""Pairs of page and ground truth by contest year, and leave-one-year-out splits of them, Eq. (22)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from drmamba.config import Convention
from drmamba.data.layout import Entry, entries
from drmamba.errors import DataError

# Pages of different years that show the same sheet: the contest of 2017 reused three sheets of 2011.
SAME_SHEET = (("2011/PR1", "2017/11"), ("2011/PR2", "2017/13"), ("2011/PR3", "2017/16"))

# The number of pages that each contest published; a folder with fewer does not hold the whole year.
CONTEST_PAGES = {"2009": 10, "2010": 10, "2011": 16, "2012": 14, "2013": 16, "2014": 10, "2016": 10, "2017": 20,
                 "2018": 10, "2019": 20}  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """The files of a page and its ground truth. `year` is the name of the set if it is not a contest."""

    year: str
    name: str
    image: Path
    truth: Path
    convention: Convention = "contest"  # the definition of ink that the ground truth follows

    @property
    def label(self) -> str:
        """Year and name, as reports and messages print it."""
        return f"{self.year}/{self.name}"


@dataclass(frozen=True)
class Split:
    """Three disjoint sets of pairs, and the pages left out so that no sheet is in two of them."""

    train: tuple[Pair, ...]
    validation: tuple[Pair, ...]
    held_out: tuple[Pair, ...]
    left_out: tuple[Pair, ...] = ()

    def roles(self) -> Iterable[tuple[str, Pair]]:
        """Every pair with its role."""
        for role in ("train", "validation", "held_out", "left_out"):
            for pair in getattr(self, role):
                yield role, pair


def match(found: Iterable[Entry]) -> tuple[list[Pair], list[str]]:
    """Pair pages with ground truths; the second list describes files with no partner or with several."""
    pairs, problems = [], []
    for (year, name), group in groupby(found, key=lambda e: (e.year, e.name)):
        members = list(group)
        images = [e.path for e in members if e.role == "image"]
        truths = [e.path for e in members if e.role == "truth"]
        if len(images) == len(truths) == 1:
            pairs.append(Pair(year, name, images[0], truths[0]))
        elif not truths:
            problems.append(f"{images[0]}: there is no ground truth for this page")
        elif not images:
            problems.append(f"{truths[0]}: there is no page for this ground truth")
        else:
            names = ", ".join(str(p) for p in (images if len(images) > 1 else truths))
            problems.append(f"{year}/{name}: more than one file has this name: {names}")
    return pairs, problems


def find_pairs(root: Path | str) -> list[Pair]:
    """Every pair below root, sorted by year and page; a file without a partner is an error."""
    root = Path(root)
    if not root.is_dir():
        raise DataError(f"{root} is not a folder; a data root holds <year>/img and <year>/gt")
    pairs, problems = match(entries(root))
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise DataError(f"{problems[0]}{more}; `drmamba data check {root}` lists all problems")
    if not pairs:
        raise DataError(
            f"{root} holds no pairs; a data root holds <year>/img/<name> and <year>/gt/<name>.png"
        )
    return pairs


def years(pairs: Iterable[Pair]) -> list[str]:
    """The years that occur, in order."""
    return sorted({pair.year for pair in pairs})


def split(
    pairs: Sequence[Pair],
    hold_out: str | int | None,
    *,
    validate_on: Sequence[str | int] = (),
    share: float = 0.1,
    seed: int = 0,
    extra: Sequence[Pair] = (),
) -> Split:
    """Divide the pairs for one fold. The held-out year is in neither training nor validation.

    Validation uses the whole years of `validate_on`, or else a share of the remaining pages that depends on the
    seed only. Extra pairs are used for training only, unless they are of a held-out or validation year. A page that
    shows the same sheet as a held-out or validation page is left out.
    """
    known = years(pairs)
    held = None if hold_out is None else str(hold_out)
    kept = {str(year) for year in validate_on}
    for year in sorted(kept | ({held} if held else set())):
        if year not in known:
            raise DataError(
                f"there is no year {year} to hold out or validate on; there are {', '.join(known)}"
            )
    if held in kept:
        raise DataError(f"{held} is held out, so it cannot be validated on as well")
    held_out = [p for p in pairs if p.year == held]
    rest, left_out = _without_twins([p for p in pairs if p.year != held], held_out)
    if kept:
        validation = [p for p in rest if p.year in kept]
    else:
        count = max(1, round(share * len(rest))) if share > 0 and len(rest) > 1 else 0
        validation = sorted(sorted(rest, key=lambda p: _draw(p, seed))[:count], key=rest.index)
    chosen = set(validation)
    train, more = _without_twins([p for p in rest if p not in chosen], validation)
    train += [p for p in extra if p.year != held and p.year not in kept]
    if not train:
        raise DataError("no page is left to train on; hold out or validate on fewer years")
    return Split(tuple(train), tuple(validation), tuple(held_out), tuple(left_out + more))


def _without_twins(pairs: Sequence[Pair], kept_apart: Iterable[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Divide pairs into those that share no sheet with the pages kept apart, and the rest."""
    apart = {pair.label for pair in kept_apart}
    twins = {name for two in SAME_SHEET for name in two if set(two) & apart}
    return [p for p in pairs if p.label not in twins], [p for p in pairs if p.label in twins]


def _draw(pair: Pair, seed: int) -> bytes:
    """A pseudo-random sort key per page, which does not change when other pages are added or removed."""
    return hashlib.sha256(f"{seed}/{pair.label}".encode()).digest()
