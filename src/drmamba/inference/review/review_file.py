"""The review of a batch as one HTML file: data, viewer and small pictures inside, full pages by relative link."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from drmamba.config import PURPOSES
from drmamba.errors import InputError
from drmamba.files import write_atomic
from drmamba.inference.review.page_pictures import PagePictures, PictureFolder, collect_pictures
from drmamba.inference.review.redo_options import redo_options
from drmamba.inference.review.reported_pages import ReportedPage, read_reports
from drmamba.inference.review.viewer import viewer_script, viewer_style

MARKER = '<meta name="generator" content="drmamba review">'
FORMATS = {
    ".tif": "tiff",
    ".tiff": "tiff",
    ".pdf": "pdf",
}  # endings of results and the --format that gives them


def write_review(
    reports: list[Path],
    output: Path,
    *,
    copies: bool = True,
    workers: int = 1,
    title: str = "",
    options: str = "",
    overwrite: bool = False,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> int:
    """Write the review of all pages in these reports and return their number.

    `options` are options of `drmamba binarize` that every redo command gets; `progress` is told the pages done.
    """
    pages = read_reports(reports)
    folders = [Path(), *(place for report in reports for place in report.absolute().parents)]
    folder = PictureFolder(output, tuple(folders), copies)
    _refuse_overwriting(output, reports, pages, folder, overwrite=overwrite)
    pictures = [PagePictures() for _ in pages]
    for done, (number, found) in enumerate(collect_pictures(pages, folder, workers=workers), 1):
        pictures[number] = found
        progress(done, len(pages))
    write_atomic(
        output, review_html(pages, pictures, title=title or _title(reports), options=options).encode()
    )
    return len(pages)


def review_html(
    pages: list[ReportedPage], pictures: list[PagePictures], *, title: str, options: str = ""
) -> str:
    """Return the text of the file; nothing in it is taken from anywhere else except full pages."""
    known = hashlib.sha256("".join(sorted({page.input for page in pages})).encode(errors="replace"))
    data = {
        "id": known.hexdigest()[:16],
        "options": options,
        "sets": list(PURPOSES),
        "pages": [_page_data(page, found) for page, found in zip(pages, pictures, strict=True)],
    }
    script = viewer_script() + _part("review.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    filled = {
        "@TITLE@": html.escape(title),
        "@STYLE@": viewer_style() + _part("review.css"),
        "@SCRIPT_HASH@": f"sha256-{digest}",
        "@DATA@": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        "@SCRIPT@": script,
    }
    # All marks are replaced at once, so that one inside a file's name means nothing.
    return re.sub("|".join(filled), lambda mark: filled[mark[0]], _part("review.html"))


def _page_data(page: ReportedPage, pictures: PagePictures) -> dict[str, Any]:
    """Return what the script knows about a page."""
    boxes = [
        {"left": left, "top": top, "right": right, "bottom": bottom, "kind": kind}
        for kind, found in page.boxes.items()
        for left, top, right, bottom in found
    ]
    options = redo_options(page.settings)
    ending = Path(page.output or "").suffix.lower()
    if page.pages > 1 and ending in FORMATS:
        options += ["--format", FORMATS[ending]]
    return {
        "id": page.id,
        "title": page.input + (f", page {page.page}" if page.pages > 1 else ""),
        "status": page.status,
        "input": page.input,
        "page": page.page,
        "pages": page.pages,
        "redo_output": page.output,
        "warnings": page.warnings,
        "notes": page.notes,
        "boxes": boxes,
        "options": options,
    } | vars(pictures)


def _part(name: str) -> str:
    return (files("drmamba.inference.review") / name).read_text(encoding="utf-8")


def _title(reports: list[Path]) -> str:
    return f"Review of {', '.join(report.name for report in reports[:3])}"


def _refuse_overwriting(
    output: Path, reports: list[Path], pages: list[ReportedPage], folder: PictureFolder, *, overwrite: bool
) -> None:
    """Raise if the review would replace a report, a page, or a file that is no review."""
    if output.is_dir():
        raise InputError(f"{output} is a folder; give a file name with -o, such as {output / 'review.html'}")
    if not os.path.lexists(output):
        return
    named = {page.input for page in pages} | {page.output for page in pages if page.output}
    places = [*reports, *(folder.find(path) for path in named if Path(path).name == output.name)]
    if any(place.exists() and place.samefile(output) for place in places):
        raise InputError(f"{output} is a report or one of its pages; give another name with -o")
    with output.open("rb") as file:
        if not overwrite and MARKER.encode() not in file.read(1000):
            raise InputError(f"{output} exists and is no review; use --overwrite, or another name with -o")
