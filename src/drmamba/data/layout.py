"""Tells pages from ground truths by file and folder names, in this project's layout and in the contests' own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Literal

from drmamba.images import READABLE_IMAGES

# "DIBC02009" (with a zero, as published), "H_DIBCO2010", "dibco2018-GT", "2017"; and "DIBCO11" for 2011.
_YEAR = re.compile(r"20[0-3]\d(?!\d)|(?<=dibco)\d\d(?!\d)", re.IGNORECASE)
_TRUTH_STEM = re.compile(r"(?<=.)[ _.-](est)?gt$|(?<=.)[ _.-]ground[ _-]?truth$", re.IGNORECASE)
_IGNORED_STEM = re.compile(r"skel(eton)?gt$|weights$|^\.", re.IGNORECASE)
_TRUTH_FOLDER = re.compile(r"(^|[^a-z])gt([^a-z]|images|$)|ground[ _-]?truth", re.IGNORECASE)
_PAGE_FOLDER = re.compile(r"img|images?|dataset|(original|test)[ _-]?images?", re.IGNORECASE)

Role = Literal["image", "truth"]


@dataclass(frozen=True)
class Entry:
    """A picture file of a data set: its year, the name it shares with its partner, and its role."""

    year: str
    name: str
    role: Role
    path: Path


def year_in(name: str) -> str | None:
    """The contest year in the name of a folder or an archive: '2009' in 'DIBC02009_Test_images'."""
    found = _YEAR.search(name)
    return None if found is None else found.group() if len(found.group()) == 4 else f"20{found.group()}"


def classify(path: PurePath) -> tuple[Role, str] | None:
    """Role and shared name of a picture, from its path below the data root; None for other files.

    A ground truth has a name that says so (`H01_estGT.tiff`, `1_gt.bmp`) or lies in a folder whose name does.
    """
    if path.suffix.lower() not in READABLE_IMAGES or _IGNORED_STEM.search(path.stem):
        return None
    name = _TRUTH_STEM.sub("", path.stem)
    if name != path.stem or any(_TRUTH_FOLDER.search(folder) for folder in path.parent.parts):
        return "truth", name
    return "image", name


def entries(root: Path, *, year: str | None = None) -> list[Entry]:
    """Every picture below root that belongs to a set of pairs, in natural order.

    A set is named after the nearest folder whose name contains a year (`2009`, `DIBCO2009-GT-Test-images_printed`),
    else after its folder below root, or after root itself if that holds `img` and `gt` or pages beside their ground
    truths. `year` overrides all of these. Sets with neither a year nor a ground truth are unrelated pictures and are
    left out.
    """
    found: list[Entry] = []
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        sort = None if any(part.startswith(".") for part in relative.parts) else classify(relative)
        if sort and path.is_file():
            found.append(Entry(year or _set(relative, root), sort[1], sort[0], path))
    # Beside files named as ground truth, any other file is a page, whatever the folder is called.
    mixed = {e.path.parent for e in found if e.name != e.path.stem}
    pages = {e for e in found if e.path.parent in mixed and e.name == e.path.stem}
    found = [replace(e, role="image") if e in pages else e for e in found]
    with_truth = {e.year for e in found if e.role == "truth"}
    kept = [e for e in found if e.year in with_truth or year_in(e.year)]
    return sorted(kept, key=lambda e: (e.year, natural(e.name), e.role, str(e.path)))


def _set(relative: PurePath, root: Path) -> str:
    folders = relative.parent.parts
    years = [found for folder in folders if (found := year_in(folder))]
    if years:
        return years[-1]
    if not folders or _TRUTH_FOLDER.search(folders[0]) or _PAGE_FOLDER.fullmatch(folders[0]):
        return year_in(root.name) or root.name
    return folders[0]


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key that puts page 10 after page 9."""
    parts: Iterable[str] = re.findall(r"\d+|\D+", name)
    return tuple((0, int(p)) if p.isdigit() else (1, p.lower()) for p in parts)
