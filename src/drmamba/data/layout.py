"""Which file is a page and which its ground truth, in this project's folders and in the contests' own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal

IMAGE_SUFFIXES = frozenset({".bmp", ".gif", ".jp2", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
# "DIBC02009" (with a zero, as published), "H_DIBCO2010", "dibco2018-GT", "2017"; and "DIBCO11" for 2011.
_YEAR = re.compile(r"20[0-3]\d(?!\d)|(?<=dibco)\d\d(?!\d)", re.IGNORECASE)
_TRUTH_STEM = re.compile(r"(?<=.)[ _.-](est)?gt$|(?<=.)[ _.-]ground[ _-]?truth$", re.IGNORECASE)
_IGNORED_STEM = re.compile(r"skel(eton)?gt$|weights$|^\.", re.IGNORECASE)
_TRUTH_FOLDER = re.compile(r"(^|[^a-z])gt([^a-z]|images|$)|ground[ _-]?truth", re.IGNORECASE)

Role = Literal["image", "truth"]


@dataclass(frozen=True)
class Entry:
    """A picture of a data set: its year, the name it shares with its partner, and which of the two it is."""

    year: str
    name: str
    role: Role
    path: Path


def year_in(name: str) -> str | None:
    """The contest year that a folder's or an archive's name carries: '2009' in 'DIBC02009_Test_images'."""
    found = _YEAR.search(name)
    return None if found is None else found.group() if len(found.group()) == 4 else f"20{found.group()}"


def classify(path: PurePath) -> tuple[Role, str] | None:
    """Role and shared name of a picture, from its path below the data root; None for other files.

    A ground truth is named for it (`H01_estGT.tiff`, `1_gt.bmp`) or lies in a folder named for it.
    """
    if path.suffix.lower() not in IMAGE_SUFFIXES or _IGNORED_STEM.search(path.stem):
        return None
    name = _TRUTH_STEM.sub("", path.stem)
    named = name != path.stem
    housed = any(_TRUTH_FOLDER.search(folder) for folder in path.parent.parts)
    return ("truth" if named or housed else "image"), name


def entries(root: Path) -> list[Entry]:
    """Every picture below root that belongs to a set of pairs, in a fixed, natural order.

    Folders of years (`2009`, `DIBCO2009-GT-Test-images_printed`, ...), one set by itself (`img` and `gt`,
    or pages beside their ground truth), or several named sets. Folders without any ground truth and
    without a year in their name are no sets and are left out.
    """
    children = sorted(root.iterdir())
    folders = [c for c in children if c.is_dir() and not c.name.startswith(".")]
    single = any(c.is_file() and classify(PurePath(c.name)) for c in children) or any(
        _TRUTH_FOLDER.search(f.name) and year_in(f.name) is None for f in folders
    )
    found: list[Entry] = []
    if single:
        found = _pictures(root, root, year_in(root.name) or root.name)
    else:
        for folder in folders:
            year = year_in(folder.name)
            pictures = _pictures(folder, root, year or folder.name)
            if year or any(p.role == "truth" for p in pictures):
                found += pictures
    return sorted(found, key=lambda e: (e.year, natural(e.name), e.role, str(e.path)))


def _pictures(folder: Path, root: Path, year: str) -> list[Entry]:
    found = []
    for path in sorted(folder.rglob("*")):
        sort = classify(path.relative_to(root))
        if sort and path.is_file():
            found.append(Entry(year, sort[1], sort[0], path))
    return found


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key that puts page 10 after page 9."""
    parts: Iterable[str] = re.findall(r"\d+|\D+", name)
    return tuple((0, int(p)) if p.isdigit() else (1, p.lower()) for p in parts)
