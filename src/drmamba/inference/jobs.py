"""Which file becomes which: sources are found, outputs are named, and nothing overwrites a source or another output."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal, Self

from drmamba.errors import ConfigError, InputError
from drmamba.images import READABLE

Format = Literal["png", "tiff", "pdf", "same"]
ENDINGS = {"png": ".png", "tiff": ".tif", "pdf": ".pdf"}
SAME = {".tif": ".tif", ".tiff": ".tiff", ".pdf": ".pdf"}  # all other formats become .png
BESIDE = ".bin"  # marks a result beside its source, as in kraken and ocropy
SOFT = ".soft.png"
RESULTS = (".png", ".tif", ".tiff", ".pdf")


@dataclass(frozen=True, slots=True)
class FileJob:
    """A source and the place of its result."""

    source: Path
    output: Path

    @property
    def many_files(self) -> bool:
        """Whether each page of the source gets a file of its own."""
        return self.output.suffix.lower() == ".png"

    def page(self, number: int, pages: int) -> Path:
        """Return the output of one page, counted from 1."""
        if pages == 1 or not self.many_files:
            return self.output
        return self.output.with_name(f"{self.output.stem}-{number:04d}{self.output.suffix}")

    def soft(self, number: int, pages: int) -> Path:
        """Return the 8-bit output of one page, counted from 1."""
        return self.output.with_name(self.output.stem + (f"-{number:04d}" if pages > 1 else "") + SOFT)


@dataclass(frozen=True)
class Shard:
    """One of n parts of a batch, for machines that know nothing of each other.

    A file's part follows from its path alone: files that come or go move no other file to another part, and folders
    that are listed at different times still split without gap or overlap. The ending does not count, so page.jpg and
    page.tif are in one part and get the same names as in a single run.
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse text such as `2/8`, the second of eight."""
        number, _, count = text.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            raise ConfigError(f"a shard is written like 2/8 (from 1/8 to 8/8), got {text!r}")
        return cls(int(number), int(count))

    def holds(self, relative: PurePath) -> bool:
        """Return whether this part has the file at this path below the folder that was given."""
        digest = hashlib.blake2b(_bare(relative).encode("utf-8", "surrogateescape"), digest_size=8).digest()
        return int.from_bytes(digest) % self.count == self.number - 1


def plan(
    paths: Iterable[Path],
    out: Path | None,
    format: Format = "png",  # noqa: A002
    shard: Shard | None = None,
) -> list[FileJob]:
    """Return one job a source; `out` is a folder, a file for a single source, or None for results beside sources.

    A shard may be empty, but no source at all is an error.
    """
    paths = list(paths)
    if out is not None and not out.is_dir() and out.suffix.lower() in RESULTS:
        if shard is not None:
            raise InputError(f"{out} names one file, and --shard splits many: give a folder with -o")
        return _single(paths, out)
    if out is not None and not out.is_dir() and (out.exists() or out.suffix.lower() in READABLE):
        kinds = ", ".join(RESULTS)
        raise InputError(f"{out} is no place for results: give a folder, or for one source a file ({kinds})")
    real = _RealPaths()
    jobs = name_outputs(_found(paths, out, real), out, format, ", ".join(map(str, paths)), shard, real.key)
    refuse_overwriting(jobs, real.key, real.key)
    for job in jobs:
        _refuse_same_file(job)
    return jobs


def name_outputs(
    found: Iterable[tuple[Path, Path]],
    out: Path | None,
    format: Format,  # noqa: A002
    where: str,
    shard: Shard | None = None,
    key: Callable[[Path], str] = lambda path: str(path).casefold(),
) -> list[FileJob]:
    """Return a job for each (source, path below `out`) of a shard; `key` is equal for paths that may be one file."""
    found = list(found)
    mine = [pair for pair in found if shard is None or shard.holds(pair[1])]
    if not found:
        raise InputError(f"there is nothing to do: no readable file ({', '.join(READABLE)}) in {where}")
    books = {_bare(relative) for _, relative in found if relative.suffix.lower() in SAME}
    outputs = [
        _output(source, relative, out, format, full=out is not None and _is_a_page_of(books, relative))
        for source, relative in mine
    ]
    places = list(map(key, outputs))
    taken, jobs = Counter(places), []
    used: set[str] = set()
    for (source, relative), output, place in zip(mine, outputs, places, strict=True):
        if taken[place] > 1:  # page.jpg and page.tif both keep their ending
            output = _output(source, relative, out, format, full=True)
            place = key(output)
        if place in used:
            raise InputError(f"two sources would be written to {output}; binarize them in two runs")
        used.add(place)
        jobs.append(FileJob(source, output))
    return jobs


def _bare(relative: PurePath) -> str:
    return relative.with_suffix("").as_posix().casefold()


def _is_a_page_of(books: set[str], relative: PurePath) -> bool:
    """Return whether a file has the name of a page of another source, like book-0001.jpg beside book.pdf."""
    book, dash, number = _bare(relative).rpartition("-")
    return bool(dash) and len(number) >= 4 and number.isdecimal() and book in books


def _single(paths: list[Path], out: Path) -> list[FileJob]:
    if len(paths) != 1 or paths[0].is_dir():
        raise InputError(f"{out} names one file; for several sources -o must be a folder")
    if not paths[0].is_file():
        raise InputError(f"there is no file {paths[0]}")
    job = FileJob(paths[0], out)
    refuse_overwriting([job], _RealPaths().key, _RealPaths().key)
    _refuse_same_file(job)
    return [job]


class _RealPaths:
    """Resolves paths. Every folder is resolved once, because that takes long on a shared file system."""

    def __init__(self) -> None:
        self._folders: dict[Path, str] = {}

    def __call__(self, path: Path) -> str:
        """Return the path without symbolic links."""
        if path.is_symlink():
            return str(path.resolve())
        folder = self._folders.get(path.parent)
        if folder is None:
            folder = self._folders[path.parent] = str(path.parent.resolve())
        return os.path.join(folder, path.name)  # noqa: PTH118

    def key(self, path: Path) -> str:
        """Return a key that is equal for two paths that may be one file, also if case does not count."""
        return self(path).casefold()


def _found(paths: list[Path], out: Path | None, real: _RealPaths) -> Iterator[tuple[Path, Path]]:
    """Yield (source, its path below the output folder), each source once, in a stable order."""
    folders = sum(path.is_dir() for path in paths)
    skip = out.resolve() if out is not None else None
    seen = set()
    sources: Iterator[tuple[Path, Path]]
    for path in paths:
        if path.is_dir():
            top = Path(path.resolve().name) if folders > 1 else Path()
            sources = ((file, top / file.relative_to(path)) for file in walk(path, skip))
        elif path.is_file():
            sources = iter([(path, Path(path.name))])  # a file named by the user may have any ending
        else:
            raise InputError(f"there is no file or folder {path}")
        for source, relative in sources:
            where = (real(source.parent), source.name)  # a link to another source gets a result of its own
            if where not in seen:
                seen.add(where)
                yield source, relative


def walk(folder: Path, skip: Path | None) -> Iterator[Path]:
    """Yield the readable files below a folder, without hidden ones, the output folder and results beside sources.

    Links to folders elsewhere are followed once each. A folder that cannot be listed is yielded like a file, so that
    it fails like one.
    """
    top, closed = folder.resolve(), list[Path]()
    followed = set[Path]()

    def wanted(path: Path) -> bool:
        real = path.resolve()
        if path.name.startswith(".") or real == skip:
            return False
        if not path.is_symlink():
            return True
        known = real == top or top in real.parents or real in top.parents or real in followed
        followed.add(real)
        return not known

    for here, folders, files in os.walk(
        folder, followlinks=True, onerror=lambda error: closed.append(Path(str(error.filename)))
    ):
        inside = Path(here)
        folders[:] = sorted(name for name in folders if wanted(inside / name))
        yield from (inside / name for name in sorted(files) if is_source(name))
    if folder in closed:
        raise InputError(f"cannot list the folder {folder}")
    yield from closed


def is_source(name: str) -> bool:
    """Return whether a file in a folder is a page to binarize, judged by its name."""
    path = Path(name)
    beside = Path(path.stem).suffix == BESIDE and path.suffix in RESULTS
    return (
        path.suffix.lower() in READABLE
        and not name.startswith(".")
        and not beside
        and not name.endswith(SOFT)
    )


def _output(source: Path, relative: Path, out: Path | None, format: Format, *, full: bool) -> Path:  # noqa: A002
    ending = SAME.get(source.suffix.lower(), ".png") if format == "same" else ENDINGS[format]
    name = source.name if full else source.stem
    if out is None:
        return source.with_name(name + BESIDE + ending)
    return out / relative.with_name(name + ending)


def refuse_overwriting(
    jobs: list[FileJob], source: Callable[[Path], str], output: Callable[[Path], str]
) -> None:
    """Raise if a result would overwrite a source; `source` and `output` return equal keys for one file."""
    sources = {source(job.source) for job in jobs}
    for job in jobs:
        if output(job.output) in sources:
            raise InputError(f"{job.output} would overwrite a source; give another folder with -o")


def _refuse_same_file(job: FileJob) -> None:
    """Raise if the output is another name of the source, such as a hard link."""
    if job.output.exists() and job.source.exists() and job.output.samefile(job.source):
        raise InputError(f"{job.output} would overwrite a source; give another folder with -o")
