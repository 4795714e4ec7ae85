"""The answer to a binarization request: the result as a file, or JSON with links to the results."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from drmamba.errors import MissingExtra
from drmamba.inference.quality import FLAGS, UNREMARKABLE
from drmamba.service.engine import ConversionRequest, FileOutcome, PageOutcome
from drmamba.service.problems import combined
from drmamba.service.result_store import ResultStore
from drmamba.service.schemas import MEDIA

try:
    from fastapi import Response
    from fastapi.responses import FileResponse, JSONResponse
    from starlette.background import BackgroundTask
except ImportError as error:
    raise MissingExtra("fastapi", "web") from error


def answer_for(
    conversion: ConversionRequest,
    outcomes: list[FileOutcome],
    model: dict[str, Any],
    store: ResultStore,
    *,
    wants_json: bool,
) -> Response:
    """Return the answer to a request; if every file failed, raise a problem that names them all."""
    problems = [outcome.problem for outcome in outcomes if outcome.problem is not None]
    if len(problems) == len(outcomes):
        raise combined(problems)
    first = outcomes[0]
    soft = conversion.settings.soft
    files = [page.soft for page in first.pages if page.soft] if soft else first.outputs
    whole = all(page.problem is None for page in first.pages)
    if len(outcomes) == len(files) == 1 and whole and not wants_json:
        return _file_answer(conversion, first, files[0], model["sha256"])
    expires = datetime.now(UTC) + timedelta(seconds=store.keep_seconds)
    return JSONResponse(
        {
            "model": model,
            "settings": conversion.settings.to_dict(),
            "expires": expires.isoformat(timespec="seconds"),
            "files": [_file_facts(outcome, store) for outcome in outcomes],
        }
    )


def _file_answer(conversion: ConversionRequest, outcome: FileOutcome, path: Path, sha256: str) -> Response:
    """Return the result itself; the request's folder is removed after it has been sent."""
    flags = sorted({flag for page in outcome.pages for flag in page.record.flags})
    return FileResponse(
        path,
        media_type=MEDIA[path.suffix],
        filename=result_name(outcome.upload.name, path.suffix, soft=conversion.settings.soft),
        headers={"Drmamba-Flags": ",".join(flags), "Drmamba-Model": sha256},
        background=BackgroundTask(shutil.rmtree, conversion.folder, ignore_errors=True),
    )


def _file_facts(outcome: FileOutcome, store: ResultStore) -> dict[str, Any]:
    """Return what a JSON answer says about one file; its results are moved to the store."""
    name = outcome.upload.name
    if outcome.problem is not None:
        return {"name": name, "status": "failed", "problem": outcome.problem.body(), "pages": []}
    links: dict[Path, str] = {}

    def link(path: Path | None, *, soft: bool = False) -> str | None:
        if path is None:
            return None
        if path not in links:
            stored = store.put(path, MEDIA[path.suffix], result_name(name, path.suffix, soft=soft))
            links[path] = f"/v1/results/{stored}"
        return links[path]

    pages = [
        page_facts(page) | {"link": link(page.output), "soft": link(page.soft, soft=True)}
        for page in outcome.pages
    ]
    return {"name": name, "status": "done", "problem": None, "pages": pages}


def page_facts(page: PageOutcome) -> dict[str, Any]:
    """Return what a JSON answer says about one page, without its links."""
    record = page.record
    if page.problem is not None:
        facts: dict[str, Any] = {"flags": [], "notes": [], "warnings": []}
        place = {"page": record.page, "pages": record.pages, "status": "failed"}
        return place | {"problem": page.problem.body()} | facts
    words = {flag: FLAGS.get(flag, flag) for flag in record.flags}
    told = {
        "notes": list(words.values()),
        "warnings": [word for flag, word in words.items() if flag not in UNREMARKABLE],
    }
    size = {"width": page.width, "height": page.height, "megapixels": record.megapixels}
    facts = {"page": record.page, "pages": record.pages, "status": "done", "problem": None} | size
    return facts | record.quality | told


def result_name(name: str, ending: str, *, soft: bool = False) -> str:
    """Return the file name under which a client may save a result."""
    return f"{Path(name).stem}.{'soft' if soft else 'bin'}{ending}"
