"""The routes of the HTTP API; every answer that is not a result is a problem+json."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import functools
from collections.abc import AsyncIterator
from typing import Annotated, Any

import drmamba
from drmamba.errors import MissingExtra
from drmamba.service.error_answers import answer_problems
from drmamba.service.explorations import PageExplorer
from drmamba.service.job_routes import add_job_routes
from drmamba.service.jobs import JobBook
from drmamba.service.page_routes import add_docs_route
from drmamba.service.problems import GONE, Problem, described, stopping
from drmamba.service.schemas import ANSWERS, BODY, FILES
from drmamba.service.service import Service
from drmamba.service.settings import DEFAULTS, RequestSettings, SettingsQuery

try:
    from fastapi import Depends, FastAPI, Query, Request, Response
    from fastapi import Path as PathParameter
    from fastapi.responses import FileResponse
except ImportError as error:
    raise MissingExtra("fastapi", "web") from error

ResultName = Annotated[
    str, PathParameter(pattern="^[A-Za-z0-9_-]{32}$", description="The name that a JSON answer linked to.")
]


def build_api(service: Service) -> FastAPI:
    """Return the API of a service."""
    explorer = PageExplorer(service.engine)
    book = JobBook(service, dropped=lambda job: explorer.drop(job.id))

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        cleaner = asyncio.ensure_future(remove_expired(service, book))
        yield
        cleaner.cancel()
        book.close()
        explorer.close()

    app = FastAPI(
        title="drmamba", version=drmamba.__version__, lifespan=lifespan, docs_url=None, redoc_url=None,
        description="Clean black-and-white pages from degraded document scans.",
        dependencies=[Depends(refuse_unknown_parameters)],
    )  # fmt: skip  # A docs_url of FastAPI would load scripts from another machine.
    app.state.book = book

    @app.post(
        "/v1/binarize",
        summary="Binarize one file or several",
        description="Send files as the form field `file`, or one file as the body. The answer is one result as a "
        "file, or JSON with flags and links if there are several results or with `Accept: application/json`.",
        response_class=Response,
        responses={
            200: {"description": "The result, or JSON about the results", "content": ANSWERS},
            **described(400, 401, 403, 408, 413, 415, 421, 422, 429, 500, 503, 507),
        },
        openapi_extra={"requestBody": BODY},
    )
    async def binarize(request: Request, query: Annotated[SettingsQuery, Query()]) -> Response:
        settings = RequestSettings.parse(query, service.engine.binarizer, service.engine.reading)
        return await service.binarize(request, settings)

    @app.get(
        "/v1/results/{name}",
        summary="Fetch a result that a JSON answer linked to",
        response_class=Response,
        responses={200: {"description": "The result", "content": FILES}, **described(401, 404, 421, 422)},
    )
    async def result(name: ResultName) -> Response:
        stored = service.store.get(name)
        if stored is None:
            raise Problem(404, "gone", GONE)
        return FileResponse(stored.path, media_type=stored.media_type, filename=stored.filename)

    @app.get("/v1/models", summary="Describe the models in use", responses=described(401, 421, 422))
    async def models() -> dict[str, list[dict[str, Any]]]:
        return {"models": [service.model_facts()]}

    @app.get("/healthz", summary="Tell whether the process lives", responses=described(422))
    async def health() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/readyz", summary="Tell whether requests are accepted", responses=described(422, 503))
    async def ready() -> dict[str, str]:
        if service.stopping:
            raise stopping()
        if service.engine.fault:
            raise Problem(503, "model", service.engine.fault)
        if not service.engine.ready.is_set():
            raise Problem(503, "starting", "the network is being loaded", headers={"Retry-After": "2"})
        return {"status": "ready"}

    @app.get(
        "/metrics",
        summary="Get the counters for Prometheus",
        response_class=Response,
        responses={200: {"description": "Text", "content": {"text/plain": {}}}, **described(401, 421, 422)},
    )
    async def metrics() -> Response:
        return Response(service.counters.text(), media_type="text/plain; version=0.0.4")

    add_job_routes(app, service, book, explorer)
    add_docs_route(app)
    answer_problems(app, service.limits)
    described_api = app.openapi
    app.openapi = functools.cache(lambda: with_defaults(described_api()))  # type: ignore[method-assign]
    return app


def refuse_unknown_parameters(request: Request) -> None:
    """Refuse query parameters that the path does not have or that are given twice, and name them."""
    operation = request.app.openapi()["paths"].get(request.scope["route"].path, {})
    described_ = operation.get(request.method.lower())
    if described_ is None:
        return  # A picture or script of the web page.
    known = [p["name"] for p in described_.get("parameters", ()) if p["in"] == "query"]
    given = [name for name, _ in request.query_params.multi_items()]
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = (
                f"did you mean {near[0]}?"
                if near
                else f"known are {', '.join(known)}"
                if known
                else "it has none"
            )
            raise Problem(422, "unknown-parameter", f"this path has no parameter {name[:50]!r}; {hint}")
        if given.count(name) > 1:
            raise Problem(422, "invalid", f"{name} is given {given.count(name)} times")


def with_defaults(api: dict[str, Any]) -> dict[str, Any]:
    """State the settings' defaults in the description of the API, where FastAPI says that they may be null."""
    for operations in api["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                kinds = [kind for kind in parameter["schema"].get("anyOf", ()) if kind.get("type") != "null"]
                if len(kinds) == 1:
                    parameter["schema"] = kinds[0] | {"title": parameter["schema"].get("title", "")}
                elif kinds:
                    parameter["schema"]["anyOf"] = kinds
                if parameter["name"] in DEFAULTS and parameter["in"] == "query":
                    parameter["schema"].setdefault("default", DEFAULTS[parameter["name"]])
    return api


async def remove_expired(service: Service, book: JobBook) -> None:
    """Remove expired results and jobs from time to time, until cancelled."""
    while True:
        await asyncio.sleep(min(30.0, service.store.keep_seconds / 2))
        service.store.sweep()
        book.sweep()
