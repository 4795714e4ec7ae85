"""The results of a job as one file: all pages in a ZIP, a PDF or a TIFF, or one page in any format."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image

from drmamba.files import atomic_file, write_atomic
from drmamba.images import Bitmap, encode_document, encode_page
from drmamba.inference.conversion import FileConversion
from drmamba.inference.jobs import FileJob, fitting_name
from drmamba.inference.quality import Quality
from drmamba.service.engine import ConversionEngine, PageOutcome
from drmamba.service.jobs import Job
from drmamba.service.problems import Problem

Download = Literal["png", "tiff", "pdf", "zip"]
SUFFIXES: dict[str, str] = {"png": ".png", "tiff": ".tif", "pdf": ".pdf", "zip": ".zip"}
TYPES = {"png": "image/png", "tiff": "image/tiff", "pdf": "application/pdf", "zip": "application/zip"}


def download_path(engine: ConversionEngine, job: Job, form: Download, file: int = 0, page: int = 0) -> Path:
    """Return the file that holds these pages; file 0 stands for all files, and page 0 for all pages of a file.

    It is made when it is asked for the first time, and again when there are more pages.
    """
    pages = list(finished_pages(job, file, page))
    if not pages:
        raise Problem(404, "gone", "no page is done yet")
    if form == "png":
        if len(pages) > 1:
            raise Problem(
                422, "invalid", "format: png holds one page; name a page, or ask for zip, tiff or pdf"
            )
        assert pages[0][1].output is not None
        return pages[0][1].output
    assert job.request is not None
    made = job.request.folder / f"download-{file}-{page}-{len(pages)}{SUFFIXES[form]}"
    if not made.exists():
        if form == "zip":
            write_zip(made, job, pages)
        else:
            write_atomic(made, document(engine, job, pages, SUFFIXES[form]))
    return made


def finished_pages(job: Job, file: int, page: int) -> Iterator[tuple[int, PageOutcome]]:
    """Yield the index of the file and the outcome of each page that is done."""
    for index, one in enumerate(job.files):
        if file in (0, index + 1):
            for found in list(one.pages):
                if found.problem is None and page in (0, found.record.page):
                    yield index, found


def page_name(name: str, page: PageOutcome, suffix: str) -> str:
    """Return the name of a page's result, as `drmamba binarize` would choose it."""
    number = f"-{page.record.page:04d}" if page.record.pages > 1 else ""
    return fitting_name(Path(name).stem, number + suffix)


def write_zip(path: Path, job: Job, pages: list[tuple[int, PageOutcome]]) -> None:
    """Write all pages as PNG files, with a report of one line a page."""
    names: set[str] = set()
    lines = []
    with atomic_file(path) as target, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for index, page in pages:
            source = job.files[index].name
            name = page_name(source, page, ".png")
            if name in names:  # Two files of one name, or page.jpg and page.tif.
                name = f"{index + 1}-{name}"
            names.add(name)
            assert page.output is not None
            archive.write(page.output, name)
            lines.append(replace(page.record, input=source, output=name).line())
        for file in job.files:  # Pages that failed are named, so that nobody misses them.
            failed = [page for page in file.pages if page.problem is not None]
            for page in failed:
                assert page.problem is not None
                lines.append(replace(page.record, input=file.name, error=page.problem.detail).line())
            if file.problem is not None and not failed:
                values = {"status": "failed", "input": file.name, "error": file.problem.detail}
                lines.append(json.dumps(values))
        archive.writestr("report.jsonl", "".join(f"{line}\n" for line in lines))


def document(engine: ConversionEngine, job: Job, pages: list[tuple[int, PageOutcome]], suffix: str) -> bytes:
    """Return pages as one document; that of a whole file has the bytes of `drmamba binarize`."""
    record, indices = "", {index for index, _ in pages}
    first = pages[0][0]
    if len(indices) == 1 and len(pages) == pages[0][1].record.pages:
        conversion = FileConversion(engine.binarizer.with_config(job.settings.config), ledger=engine.ledger)
        source = FileJob(job.uploads.files[first].path, Path(f"page{suffix}"))
        origin = conversion.origin(source)
        settings = origin.settings | {"soft": False, "dpi": job.settings.reading.dpi}
        quality = [page.record.quality for _, page in pages]
        known = [Quality(**values | {"flags": tuple(values["flags"])}) for values in quality]
        record = replace(origin, settings=settings).record(0, len(pages), known)
    coding = job.settings.pdf_coding
    coded = [encode_page(read_bitmap(page), suffix, coding) for _, page in pages]
    return encode_document(coded, suffix, record)


def read_bitmap(page: PageOutcome) -> Bitmap:
    """Return the result of a page from the PNG that this service has written, which rounds the resolution."""
    assert page.output is not None
    with Image.open(page.output) as image:
        return Bitmap.pack(~np.asarray(image.convert("1")), page.dpi)
