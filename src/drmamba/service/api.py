"""The routes of the HTTP API; every answer that is not a result is a problem+json."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Any

import drmamba
from drmamba.config import InferenceConfig, Keep
from drmamba.errors import CheckpointError, MissingExtra
from drmamba.service.error_answers import answer_problems
from drmamba.service.problems import GONE, Problem, described, stopping
from drmamba.service.schemas import ANSWERS, BODY, FILES, Format
from drmamba.service.service import Service, discard

try:
    from fastapi import FastAPI, Query, Request, Response
    from fastapi import Path as PathParameter
    from fastapi.responses import FileResponse
except ImportError as error:
    raise MissingExtra("fastapi", "web") from error

DEFAULT = InferenceConfig()
Threshold = Annotated[float, Query(gt=0, lt=1, description="Pixels with a probability above this are ink.")]
Suppress = Annotated[
    float,
    Query(
        ge=0,
        le=100,
        description="How strongly the background is suppressed: 0 not at all, 1 as the model chooses.",
    ),
]
Kept = Annotated[
    Keep,
    Query(
        description="Which marks are ink: text keeps writing alone; all keeps rules, frames, stamps and drawings too."
    ),
]
Soft = Annotated[
    bool,
    Query(
        description="Return the probability of ink as an 8-bit PNG instead of the result; a JSON answer links to both."
    ),
]
Name = Annotated[
    str, PathParameter(pattern="^[A-Za-z0-9_-]{32}$", description="The name that a JSON answer linked to.")
]


def build_api(service: Service) -> FastAPI:
    """Return the API of a service."""

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        cleaner = asyncio.ensure_future(service.remove_expired())
        yield
        cleaner.cancel()

    app = FastAPI(
        title="drmamba", version=drmamba.__version__, lifespan=lifespan, docs_url=None, redoc_url=None,
        description="Clean black-and-white pages from degraded document scans.",
    )  # fmt: skip  # A docs_url would load scripts from another machine.

    @app.post(
        "/v1/binarize",
        summary="Binarize one file or several",
        description="Send files as the form field `file`, or one file as the body. The answer is one result as a "
        "file, or JSON with flags and links if there are several results or with `Accept: application/json`.",
        response_class=Response,
        responses={
            200: {"description": "The result, or JSON about the results", "content": ANSWERS},
            **described(400, 401, 408, 413, 415, 422, 429, 500, 503, 507),
        },
        openapi_extra={"requestBody": BODY},
    )
    async def binarize(
        request: Request,
        format: Format = "png",  # noqa: A002
        threshold: Threshold = DEFAULT.threshold,
        suppress: Suppress = DEFAULT.suppress,
        keep: Kept = DEFAULT.keep,
        soft: Soft = False,
    ) -> Response:
        binarizer = service.engine.binarizer
        config = replace(binarizer.config, threshold=threshold, suppress=suppress, keep=keep)
        try:
            binarizer.check(config)
        except CheckpointError as error:  # This is found out before the files are read.
            await discard(request, service.limits)
            raise Problem(422, "keep", "this service's model knows text only; leave keep out") from error
        return await service.binarize(request, config, format, soft)

    @app.get(
        "/v1/results/{name}",
        summary="Fetch a result that a JSON answer linked to",
        response_class=Response,
        responses={200: {"description": "The result", "content": FILES}, **described(401, 404)},
    )
    async def result(name: Name) -> Response:
        stored = service.store.get(name)
        if stored is None:
            raise Problem(404, "gone", GONE)
        return FileResponse(stored.path, media_type=stored.media_type, filename=stored.filename)

    @app.get("/v1/models", summary="Describe the models in use", responses=described(401))
    async def models() -> dict[str, list[dict[str, Any]]]:
        return {"models": [service.model()]}

    @app.get("/healthz", summary="Tell whether the process lives")
    async def health() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/readyz", summary="Tell whether requests are accepted", responses=described(503))
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
        responses={200: {"description": "Text", "content": {"text/plain": {}}}, **described(401)},
    )
    async def metrics() -> Response:
        return Response(service.counters.text(), media_type="text/plain; version=0.0.4")

    answer_problems(app)
    return app
