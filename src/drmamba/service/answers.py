"""The answer to a binarization request: the result as a file, or JSON with links to the results."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from drmamba.errors import MissingExtra
from drmamba.inference.quality import FLAGS
from drmamba.service.engine import ConversionRequest, Outcome
from drmamba.service.problems import combined
from drmamba.service.result_store import ResultStore
from drmamba.service.schemas import ENDINGS, MEDIA

try:
    from fastapi import Response
    from fastapi.responses import FileResponse, JSONResponse
    from starlette.background import BackgroundTask
except ImportError as error:
    raise MissingExtra("fastapi", "web") from error


def answer_for(
    conversion: ConversionRequest,
    outcomes: list[Outcome],
    model: dict[str, Any],
    store: ResultStore,
    *,
    wants_json: bool,
) -> Response:
    """Return the answer to a request; if every file failed, raise a problem that names them all."""
    problems = [outcome.problem for outcome in outcomes if outcome.problem is not None]
    if len(problems) == len(outcomes):
        raise combined(problems)
    files = outcomes[0].softs if conversion.soft else outcomes[0].outputs
    if len(outcomes) == len(files) == 1 and not wants_json:
        return _file_answer(conversion, outcomes[0], files[0], model["sha256"])
    expires = datetime.now(UTC) + timedelta(seconds=store.keep_seconds)
    return JSONResponse(
        {
            "model": model,
            "settings": conversion.config.to_dict(),
            "expires": expires.isoformat(timespec="seconds"),
            "files": [_file_facts(conversion, outcome, store) for outcome in outcomes],
        }
    )


def _file_answer(conversion: ConversionRequest, outcome: Outcome, path: Path, sha256: str) -> Response:
    """Return the result itself; the request's folder is removed after it has been sent."""
    flags = sorted({flag for page in outcome.pages for flag in page.flags})
    kind = "png" if conversion.soft else conversion.format
    return FileResponse(
        path,
        media_type=MEDIA[kind],
        filename=result_name(outcome.upload.name, ENDINGS[kind], soft=conversion.soft),
        headers={"Drmamba-Flags": ",".join(flags), "Drmamba-Model": sha256},
        background=BackgroundTask(shutil.rmtree, conversion.folder, ignore_errors=True),
    )


def _file_facts(conversion: ConversionRequest, outcome: Outcome, store: ResultStore) -> dict[str, Any]:
    """Return what a JSON answer says about one file; its results are moved to the store."""
    name = outcome.upload.name
    if outcome.problem is not None:
        return {"name": name, "status": "failed", "problem": outcome.problem.body(), "pages": []}

    def link(path: Path, kind: str, *, soft: bool = False) -> str:
        return f"/v1/results/{store.put(path, MEDIA[kind], result_name(name, ENDINGS[kind], soft=soft))}"

    links = [link(path, conversion.format) for path in outcome.outputs]
    softs = [link(path, "png", soft=True) for path in outcome.softs]
    pages = []
    for i, page in enumerate(outcome.pages):
        soft = softs[i] if softs else None
        notes = [FLAGS.get(flag, flag) for flag in page.flags]
        facts = {
            "page": page.page,
            "megapixels": page.megapixels,
            "link": links[min(i, len(links) - 1)],
            "soft": soft,
        }
        pages.append(facts | page.quality | {"notes": notes})
    return {"name": name, "status": "done", "problem": None, "pages": pages}


def result_name(name: str, ending: str, *, soft: bool = False) -> str:
    """Return the file name under which a client may save a result."""
    return f"{Path(name).stem}.{'soft' if soft else 'bin'}{ending}"
