"""The pictures of a review: small ones inside the file, links to full pages, and copies of pages browsers cannot show.

Scans may be hostile, so every file is decoded in the decoding process, with its limits on memory and time.
"""

from __future__ import annotations

import base64
import io
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np
from PIL import Image

from drmamba.config import EngineConfig
from drmamba.errors import DRMambaError, one_line
from drmamba.files import write_atomic
from drmamba.images import PageSource
from drmamba.images.reading.decoder_process import DecoderProcess, IsolatedFile, IsolatedPage
from drmamba.images.reading.extra_formats import extra_format
from drmamba.inference.review.reported_pages import ReportedPage

THUMBNAIL = (168, 224)  # pixels; the largest width and height
THUMBNAIL_BYTES = 5_000  # bytes; 200 pages with two thumbnails each stay under 3 MB in base64
# Sizes, as shares of THUMBNAIL, and qualities of WebP that are tried until a thumbnail is small enough.
THUMBNAIL_STEPS = ((1.0, 45), (1.0, 20), (0.75, 25), (0.6, 15), (0.5, 5))
SHOWN_BY_BROWSERS = (".jpg", ".jpeg", ".png", ".webp", ".bmp")
COPY_QUALITY = 88  # of JPEG, 0 to 100
MAX_COPY_PIXELS = 120_000_000  # pixels; of a larger page no copy is made
MAX_JPEG_SIDE = 65_500  # pixels; the longest side that a JPEG may have
BAND_ROWS = 512  # rows that are read at a time, about


@dataclass
class PagePictures:
    """What a review shows of one page."""

    width: int = 0
    height: int = 0
    before_small: str = ""  # a data: address
    after_small: str = ""  # a data: address
    before: str = ""  # an address relative to the review
    after: str = ""  # an address relative to the review
    problem: str = ""  # why something is missing


@dataclass(frozen=True)
class PictureFolder:
    """Where a review lies and where its pages are."""

    review: Path  # the HTML file
    bases: tuple[Path, ...]  # folders that the paths in the report may be relative to
    copies: bool = True  # whether pages that browsers cannot show are copied

    @property
    def copied(self) -> Path:
        """The folder of the copies, which is named as browsers name the files of a page that they save."""
        return self.review.with_name(f"{self.review.stem}_files")

    def find(self, path: str) -> Path:
        """Return a path of the report as one that exists, if it does."""
        places = [base / path for base in self.bases]
        return next((place for place in places if os.path.lexists(place)), places[0])

    def link(self, path: Path) -> str:
        """Return the address of a file, relative to the review if both are on one drive."""
        try:
            relative = os.path.relpath(path.absolute(), self.review.absolute().parent)
        except ValueError:
            return path.absolute().as_uri()
        return quote(Path(relative).as_posix(), errors="surrogateescape")


def collect_pictures(
    pages: list[ReportedPage], folder: PictureFolder, *, workers: int
) -> Iterator[tuple[int, PagePictures]]:
    """Yield the number and the pictures of every page, file by file; what cannot be read is a problem in words."""
    files: dict[str, list[int]] = {}
    for number, page in enumerate(pages):
        files.setdefault(page.input, []).append(number)
    local = threading.local()
    memory = EngineConfig().max_memory // max(1, 2 * workers)
    readers: list[DecoderProcess] = []

    def work(numbers: list[int]) -> list[tuple[int, PagePictures]]:
        if not hasattr(local, "reader"):
            local.reader = DecoderProcess(memory)
            readers.append(local.reader)
        return _file_pictures([(number, pages[number]) for number in numbers], folder, local.reader)

    try:
        with ThreadPoolExecutor(workers, thread_name_prefix="drmamba-review") as threads:
            for found in threads.map(work, files.values()):
                yield from found
    finally:
        for reader in readers:
            reader.close()


def _file_pictures(
    numbered: list[tuple[int, ReportedPage]], folder: PictureFolder, reader: DecoderProcess
) -> list[tuple[int, PagePictures]]:
    """Return the pictures of all pages of one source."""
    found = {number: PagePictures() for number, _ in numbered}
    sources: dict[Path, dict[int, list[int]]] = {}  # source -> page of it -> numbers
    results: dict[Path, dict[int, list[int]]] = {}
    for number, page in numbered:
        sources.setdefault(folder.find(page.input), {}).setdefault(page.page, []).append(number)
        if page.output is not None and page.status != "failed":
            inside = page.page if Path(page.output).suffix.lower() != ".png" else 1
            results.setdefault(folder.find(page.output), {}).setdefault(inside, []).append(number)
    for side, files in (("before", sources), ("after", results)):
        for path, places in files.items():
            try:
                _add_file(side, path, places, found, folder, reader)
            except (DRMambaError, OSError) as error:
                for number in (number for numbers in places.values() for number in numbers):
                    found[number].problem = found[number].problem or one_line(str(error))
    return list(found.items())


def _add_file(
    side: str,
    path: Path,
    places: dict[int, list[int]],
    found: dict[int, PagePictures],
    folder: PictureFolder,
    reader: DecoderProcess,
) -> None:
    """Add one side's pictures of the pages of a file."""
    file: IsolatedFile = reader.open(path)
    last = max(places)
    for place, page in enumerate(file, 1):
        for number in places.get(place, ()):
            pictures = found[number]
            try:
                page.decode()
                setattr(pictures, f"{side}_small", data_address(thumbnail(page)))
                pictures.width, pictures.height = page.width, page.height
                setattr(pictures, side, _full_page(side, path, page, number, file.pages, folder))
            except DRMambaError as error:
                pictures.problem = pictures.problem or one_line(str(error))
        if place >= last:
            return


def _full_page(
    side: str, path: Path, page: IsolatedPage, number: int, pages: int, folder: PictureFolder
) -> str:
    """Return the address of the full page; a copy is made if a browser cannot show the file."""
    # Telephones name HEIC files .jpg at times.
    if pages == 1 and path.suffix.lower() in SHOWN_BY_BROWSERS and not extra_format(path):
        return folder.link(path)
    small = page.width * page.height <= MAX_COPY_PIXELS and max(page.width, page.height) <= MAX_JPEG_SIDE
    if not folder.copies or not small:
        return ""
    image, buffer = Image.fromarray(page.read()), io.BytesIO()
    if side == "before":
        image.save(buffer, "JPEG", quality=COPY_QUALITY)
    else:
        image.convert("1", dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    copy = folder.copied / f"{number + 1:05d}-{side}.{'jpg' if side == 'before' else 'png'}"
    write_atomic(copy, buffer.getvalue())
    return folder.link(copy)


def thumbnail(page: PageSource) -> Image.Image:
    """Return a page reduced to THUMBNAIL, read in bands so that a page of any size takes little memory."""
    factor = max(1, min(page.width // THUMBNAIL[0], page.height // THUMBNAIL[1]) // 2)
    step = max(1, BAND_ROWS // factor) * factor
    bands = []
    for top in range(0, page.height, step):
        band = Image.fromarray(page.rows(top, min(top + step, page.height)))
        bands.append(np.asarray(band.reduce(factor)))
    reduced = Image.fromarray(np.concatenate(bands))
    reduced.thumbnail(THUMBNAIL, Image.Resampling.LANCZOS)
    return reduced


def data_address(image: Image.Image) -> str:
    """Return a thumbnail as a data: address of at most about THUMBNAIL_BYTES."""
    data = b""
    for share, quality in THUMBNAIL_STEPS:
        buffer, width, height = io.BytesIO(), *(max(1, round(side * share)) for side in image.size)
        image.resize((width, height), Image.Resampling.BOX).save(buffer, "WEBP", quality=quality, method=4)
        data = buffer.getvalue()
        if len(data) <= THUMBNAIL_BYTES:
            break
    return "data:image/webp;base64," + base64.b64encode(data).decode("ascii")
