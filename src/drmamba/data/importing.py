"""Imports the contests' own archives and folders into ROOT/<year>/{img,gt}."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np

from drmamba.data.dibco import Pair, match
from drmamba.data.layout import classify, entries, year_in
from drmamba.errors import DataError
from drmamba.files import write_atomic
from drmamba.images import read_rgb, write_ink

ARCHIVES = (".zip", ".rar", ".7z")
LARGEST_FILE = 512 << 20  # bytes; a picture in an archive may not unpack to more
# Programs that unpack RAR and 7z, with their arguments. Python reads only ZIP itself.
UNPACKERS = {
    "bsdtar": ["-x", "-f", "{archive}", "-C", "{folder}"],
    "7zz": ["x", "-y", "-o{folder}", "{archive}"],
    "7z": ["x", "-y", "-o{folder}", "{archive}"],
    "unar": ["-force-overwrite", "-output-directory", "{folder}", "{archive}"],
    "unrar": ["x", "-o+", "{archive}", "{folder}/"],
}


@dataclass
class Imported:
    """The result of an import: pairs that were written, pairs that were already there, and remarks."""

    written: list[Pair] = field(default_factory=list)
    kept: list[Pair] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def import_pairs(
    sources: Sequence[Path], root: Path, *, year: str | None = None, overwrite: bool = False
) -> Imported:
    """Find pages and ground truths in folders and archives, and lay them out below root.

    Pages are copied byte by byte, ground truths become 1-bit PNG. The year is taken from the name of an archive or
    folder; `year` gives it where the name does not (the archives of 2014).
    """
    done = Imported()
    with tempfile.TemporaryDirectory(prefix="drmamba-") as name:
        stage = Path(name)
        for number, source in enumerate(sources):
            _gather(source, stage / f"{number:03d}", year)
        found = [entry for part in sorted(stage.iterdir()) for entry in entries(part, year=year)]
        found.sort(key=lambda e: (e.year, e.name, e.role))
        pairs, problems = match(found)
        done.remarks += [problem.replace(f"{stage}/", "") for problem in problems]
        if not pairs:
            raise DataError(f"there are no pairs of page and ground truth in {', '.join(map(str, sources))}")
        for pair in pairs:
            if year_in(pair.year) is None and year is None:
                raise DataError(
                    f"the year of {pair.name} is not in the name of its folder or archive; give --year"
                )
            _place(pair, root, done, overwrite)
    return done


def _gather(source: Path, stage: Path, year: str | None) -> None:
    """Link a folder's pictures and unpack its archives below stage, under folder names that carry the year."""
    if not source.exists():
        raise DataError(f"{source} does not exist")
    files = [source] if source.is_file() else sorted(p for p in source.rglob("*") if p.is_file())
    # The year may be in the name of the source or, for a single archive, of its folder.
    base = source.parent if source.is_file() or year_in(source.name) or year else source
    if source.is_file() and year_in(source.resolve().parent.name):
        source, base = source.resolve(), source.resolve().parent.parent
        files = [source]
    for file in files:
        relative = file.relative_to(base)
        if file.suffix.lower() in ARCHIVES:
            # An archive of ground truths may be called just GT.rar, so its name becomes a folder.
            unpack(file, stage / relative.parent / file.stem)
        elif classify(relative):
            target = stage / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(file.resolve())


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive's pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if archive.suffix.lower() == ".zip":
        _unzip(archive, folder)
        return
    for program, arguments in UNPACKERS.items():
        path = shutil.which(program)
        if path:
            words = [part.format(archive=archive.resolve(), folder=folder) for part in arguments]
            result = subprocess.run([path, *words], capture_output=True, text=True, check=False)
            if result.returncode == 0:
                return
            raise DataError(f"{program} could not unpack {archive}: {result.stderr.strip()[-300:]}")
    raise DataError(
        f"{archive}: unpacking {archive.suffix} needs one of {', '.join(UNPACKERS)}; "
        "install one (libarchive-tools on Debian) or unpack the file and import the folder"
    )


def _unzip(archive: Path, folder: Path) -> None:
    """Write the pictures of a ZIP file inside the folder, whatever paths and sizes it claims."""
    try:
        with zipfile.ZipFile(archive) as pack:
            for member in pack.infolist():
                path = PurePosixPath(member.filename.replace("\\", "/"))
                parts = [part for part in path.parts if part not in ("/", "..", ".") and ":" not in part]
                if member.is_dir() or not parts or not classify(PurePosixPath(*parts)):
                    continue
                target = folder.joinpath(*parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with pack.open(member) as source, target.open("wb") as sink:
                    left = LARGEST_FILE
                    while chunk := source.read(min(1 << 20, left + 1)):
                        left -= len(chunk)
                        if left < 0:
                            raise DataError(
                                f"{archive}: {member.filename} is larger than {LARGEST_FILE >> 20} MiB"
                            )
                        sink.write(chunk)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, EOFError) as error:
        raise DataError(f"{archive} cannot be unpacked: {error}") from error


def _place(pair: Pair, root: Path, done: Imported, overwrite: bool) -> None:
    image = root / pair.year / "img" / f"{pair.name}{pair.image.suffix.lower()}"
    truth = root / pair.year / "gt" / f"{pair.name}.png"
    target = Pair(pair.year, pair.name, image, truth)
    if image.exists() and truth.exists() and not overwrite:
        done.kept.append(target)
        return
    grey = read_rgb(pair.truth).mean(2)
    between = int(np.count_nonzero((grey > 8) & (grey < 247)))
    if between:
        share = between / grey.size
        done.remarks.append(
            f"{target.label}: {share:.2%} of its ground truth is grey; values below 128 are taken as ink"
        )
    for path in (image, truth):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(image, pair.image.read_bytes())
    write_ink(truth, grey < 128)
    done.written.append(target)
