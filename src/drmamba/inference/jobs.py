"""Which files become which: inputs found, outputs named, collisions and overwritten sources ruled out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from drmamba.errors import InputError
from drmamba.images import SUFFIXES

Format = Literal["png", "tiff", "pdf", "same"]
FORMATS: tuple[Format, ...] = ("png", "tiff", "pdf", "same")
ENDINGS = {"png": ".png", "tiff": ".tif", "pdf": ".pdf"}
SAME = {".tif": ".tif", ".tiff": ".tiff", ".pdf": ".pdf"}  # what else cannot hold a 1-bit page becomes .png
BESIDE = ".bin"  # kraken's and ocropy's mark of a page written beside its source
SOFT = ".soft.png"


@dataclass(frozen=True)
class Job:
    """A source and where its result goes."""

    source: Path
    output: Path

    @property
    def many_files(self) -> bool:
        """Whether each page of the source gets a file of its own."""
        return self.output.suffix == ".png"

    def page(self, number: int, pages: int) -> Path:
        """The output of one page, counted from 1."""
        if pages == 1 or not self.many_files:
            return self.output
        return self.output.with_name(f"{self.output.stem}-{number:04d}{self.output.suffix}")

    def soft(self, number: int, pages: int) -> Path:
        """The 8-bit output of one page."""
        return self.output.with_name(self.output.stem + (f"-{number:04d}" if pages > 1 else "") + SOFT)


def plan(paths: Iterable[Path], out: Path | None, format: Format = "png") -> list[Job]:  # noqa: A002
    """One job a source; `out` is a folder, a file name for a single source, or None: beside the sources."""
    paths = list(paths)
    if out is not None and not out.is_dir() and out.suffix.lower() in (".png", ".tif", ".tiff", ".pdf"):
        return _single(paths, out)
    found = list(_found(paths, out))
    if not found:
        listed = ", ".join(map(str, paths))
        raise InputError(f"there is nothing to do: no readable file ({', '.join(SUFFIXES)}) in {listed}")
    outputs = [_output(source, relative, out, format, full=False) for source, relative in found]
    taken = Counter(_key(output) for output in outputs)
    jobs = []
    for (source, relative), output in zip(found, outputs, strict=True):
        if taken[_key(output)] > 1:  # page.jpg and page.tif: both keep their ending
            output = _output(source, relative, out, format, full=True)
        jobs.append(Job(source, output))
    _refuse_collisions(jobs)
    return jobs


def _single(paths: list[Path], out: Path) -> list[Job]:
    if len(paths) != 1 or paths[0].is_dir():
        raise InputError(f"{out} names one file; for several sources -o must be a folder")
    if not paths[0].is_file():
        raise InputError(f"there is no file {paths[0]}")
    jobs = [Job(paths[0], out)]
    _refuse_collisions(jobs)
    return jobs


def _found(paths: list[Path], out: Path | None) -> Iterator[tuple[Path, Path]]:
    """(source, its place below the output folder), each source once, in a stable order."""
    folders = sum(path.is_dir() for path in paths)
    skip = out.resolve() if out is not None else None
    seen = set()
    for path in paths:
        if path.is_dir():
            top = Path(path.resolve().name) if folders > 1 else Path()
            sources = [(file, top / file.relative_to(path)) for file in _walk(path, skip)]
        elif path.is_file():
            sources = [(path, Path(path.name))]  # named by hand: tried whatever its ending
        else:
            raise InputError(f"there is no file or folder {path}")
        for source, relative in sources:
            if source.resolve() not in seen:
                seen.add(source.resolve())
                yield source, relative


def _walk(folder: Path, skip: Path | None) -> Iterator[Path]:
    """Readable files below a folder; not hidden ones, the output folder, or results beside sources."""
    for here, folders, files in os.walk(folder):
        inside = Path(here)
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and (inside / name).resolve() != skip
        )
        for name in sorted(files):
            path = Path(name)
            result = Path(path.stem).suffix in (BESIDE, ".soft")
            if path.suffix.lower() in SUFFIXES and not name.startswith(".") and not result:
                yield inside / name


def _output(source: Path, relative: Path, out: Path | None, format: Format, *, full: bool) -> Path:  # noqa: A002
    ending = SAME.get(source.suffix.lower(), ".png") if format == "same" else ENDINGS[format]
    name = source.name if full else source.stem
    if out is None:
        return source.with_name(name + BESIDE + ending)
    return out / relative.with_name(name + ending)


def _key(path: Path) -> str:
    """Equal for two paths that may be one file, also where case does not count."""
    return str(path.resolve()).casefold()


def _refuse_collisions(jobs: list[Job]) -> None:
    sources = {_key(job.source) for job in jobs}
    outputs: set[str] = set()
    for job in jobs:
        key = _key(job.output)
        if key in sources or _same_file(job.source, job.output):
            raise InputError(f"{job.output} would overwrite a source; give another folder with -o")
        if key in outputs:
            raise InputError(f"two sources would be written to {job.output}; binarize them in two runs")
        outputs.add(key)


def _same_file(source: Path, output: Path) -> bool:
    return output.exists() and source.exists() and output.samefile(source)
