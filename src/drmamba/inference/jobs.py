"""Which file becomes which: sources are found, outputs are named, and nothing overwrites a source or another output.

The functions of `os.path` are used here because they answer no where the methods of `Path` raise an error: for a path
that is too long, a folder that may not be entered, or a link to itself. One such entry must not end a batch.
"""

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
MAX_NAME = 255  # bytes; the longest name of a file on nearly all file systems


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
        return self.output.with_name(fitting_name(self.output.stem, f"-{number:04d}{self.output.suffix}"))

    def soft(self, number: int, pages: int) -> Path:
        """Return the 8-bit output of one page, counted from 1."""
        ending = (f"-{number:04d}" if pages > 1 else "") + SOFT
        return self.output.with_name(fitting_name(self.output.stem, ending))


def fitting_name(stem: str, ending: str) -> str:
    """Return the name of a result; one that no file system takes keeps its beginning and gets a digest."""
    whole = os.fsencode(stem)
    room = MAX_NAME - len(os.fsencode(ending))
    if len(whole) <= room:
        return stem + ending
    digest = "~" + hashlib.blake2b(whole, digest_size=4).hexdigest()
    return whole[: room - len(digest)].decode(errors="ignore") + digest + ending


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
    folder = out is None or os.path.isdir(out)
    if out is not None and not folder and out.suffix.lower() in RESULTS:
        if shard is not None:
            raise InputError(f"{out} names one file, and --shard splits many: give a folder with -o")
        return _single(paths, out)
    if out is not None and not folder and (os.path.lexists(out) or out.suffix.lower() in READABLE):
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
    if len(paths) != 1 or os.path.isdir(paths[0]):
        raise InputError(f"{out} names one file; for several sources -o must be a folder")
    if not os.path.isfile(paths[0]):
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
        if os.path.islink(path):
            return str(_real(path))
        folder = self._folders.get(path.parent)
        if folder is None:
            folder = self._folders[path.parent] = str(_real(path.parent))
        return os.path.join(folder, path.name)

    def key(self, path: Path) -> str:
        """Return a key that is equal for two paths that may be one file, also if case does not count."""
        return self(path).casefold()


def _found(paths: list[Path], out: Path | None, real: _RealPaths) -> Iterator[tuple[Path, Path]]:
    """Yield (source, its path below the output folder), each source once, in a stable order."""
    folders = sum(os.path.isdir(path) for path in paths)
    skip = _real(out) if out is not None else None
    seen = set()
    sources: Iterator[tuple[Path, Path]]
    for path in paths:
        if os.path.isdir(path):
            top = Path(_real(path).name) if folders > 1 else Path()
            sources = ((file, top / file.relative_to(path)) for file in walk(path, skip))
        elif os.path.isfile(path):
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
    it fails like one and costs one line of the report.
    """
    top, closed, followed = _real(folder), list[Path](), set[Path]()

    def wanted(path: Path, linked: bool) -> bool:
        if path.name.startswith("."):
            return False
        if not linked:  # Resolving every path would take long in deep folders.
            return skip is None or path.name != skip.name or _real(path) != skip
        real = _real(path)
        if real == skip:
            return False
        known = real == top or top in real.parents or real in top.parents or real in followed
        followed.add(real)
        return not known

    waiting = [folder]
    while waiting:  # Not recursive, because folders may be nested deeper than Python's calls.
        here = waiting.pop()
        folders, files = list[Path](), list[str]()
        try:
            with os.scandir(here) as listed:
                for entry in listed:
                    if not _is_folder(entry):
                        files.append(entry.name)
                    elif wanted(here / entry.name, entry.is_symlink()):
                        folders.append(here / entry.name)
        except OSError as error:
            if here == folder:
                raise InputError(f"cannot list the folder {folder}: {error.strerror or error}") from error
            closed.append(here)
            continue
        yield from (here / name for name in sorted(files) if is_source(name))
        waiting += sorted(folders, reverse=True)
    yield from closed


def _real(path: Path) -> Path:
    """Return the path without symbolic links; unlike `Path.resolve`, a link to itself is no error."""
    return Path(os.path.realpath(path))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder or a link to one; one that cannot be examined counts as a file."""
    try:
        return entry.is_dir()
    except OSError:
        return False


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
        return source.with_name(fitting_name(name, BESIDE + ending))
    return out / relative.with_name(fitting_name(name, ending))


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
    if os.path.exists(job.output) and os.path.exists(job.source) and job.output.samefile(job.source):
        raise InputError(f"{job.output} would overwrite a source; give another folder with -o")
