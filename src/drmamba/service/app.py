"""The HTTP API. Every answer that is not a result is a problem+json that says what is wrong."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import drmamba
from drmamba.config import InferenceConfig, Keep, ServiceConfig
from drmamba.errors import CheckpointError, MissingExtra
from drmamba.inference.quality import FLAGS
from drmamba.service.counters import Counters
from drmamba.service.engine import ConversionEngine, ConversionRequest, Outcome
from drmamba.service.problems import MEDIA_TYPE, Problem, busy, described, fault, stopping, together
from drmamba.service.schemas import ANSWERS, BODY, FILES, MEDIA
from drmamba.service.store import Store
from drmamba.service.upload import receive, too_large

try:
    from fastapi import FastAPI, Query, Request, Response
    from fastapi import Path as PathParameter
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import FileResponse, JSONResponse
    from starlette.background import BackgroundTask
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect
    from starlette.routing import Route
except ImportError as error:
    raise MissingExtra("fastapi", "web") from error

DEFAULT = InferenceConfig()
ENDINGS = {"png": ".png", "tiff": ".tif", "pdf": ".pdf"}
log = logging.getLogger("drmamba.service")

Format = Literal["png", "tiff", "pdf"]
Threshold = Annotated[float, Query(gt=0, lt=1, description="Probability above which a pixel is ink.")]
Suppress = Annotated[
    float, Query(ge=0, le=100, description="Strength of the background's suppression: 1 is the model's own.")
]
Kept = Annotated[
    Keep,
    Query(
        description="Which marks stay: text keeps writing alone, all keeps rules, frames, stamps and drawings too."
    ),
]
Soft = Annotated[bool, Query(description="The probability of ink as an 8-bit PNG instead (JSON: as well).")]
GONE = "there is no such result; results expire"
Name = Annotated[str, PathParameter(pattern="^[A-Za-z0-9_-]{32}$", description="As a JSON answer gave it.")]


@dataclass
class Service:
    """A running service: what its routes share."""

    engine: ConversionEngine
    limits: ServiceConfig
    store: Store = field(init=False)
    counters: Counters = field(init=False)
    held: int = 0  # requests with a place in the queue
    stopping: bool = False
    usual_seconds: float = 1.0  # a request takes, by a moving average

    def __post_init__(self) -> None:
        self.store = Store(60 * self.limits.keep_minutes, self.limits.keep_bytes)
        self.counters = Counters(lambda: self.held)

    async def binarize(self, request: Request, config: InferenceConfig, form: Format, soft: bool) -> Response:
        """A request from its first byte to its answer."""
        if self.stopping:
            raise stopping()
        if self.held >= self.engine.threads + self.limits.queue:
            self.counters.rejected.inc()
            await discard(request, self.limits)
            raise busy(math.ceil(self.usual_seconds * self.held / self.engine.threads))
        self.held += 1
        folder = self.store.workplace()
        answer = None
        try:
            order = await self._order(request, folder, config, form, soft)
            started = asyncio.get_running_loop().time()
            outcomes = await self._finished(order, request)
            if outcomes is None:
                return Response(status_code=499)  # nobody reads it
            passed = asyncio.get_running_loop().time() - started
            self.usual_seconds += 0.2 * (passed - self.usual_seconds)
            answer = self._answer(request, order, outcomes)
            return answer
        except ClientDisconnect:
            self.counters.cancelled.inc()
            return Response(status_code=499)
        finally:
            self.held -= 1
            if answer is None or answer.background is None:
                shutil.rmtree(folder, ignore_errors=True)

    async def _order(
        self,
        request: Request,
        folder: Path,
        config: InferenceConfig,
        form: Format,
        soft: bool,
    ) -> ConversionRequest:
        declared = request.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > self.limits.max_bytes:
            await discard(request, self.limits)
            raise too_large(self.limits)
        kind = request.headers.get("content-type", "")
        try:
            async with asyncio.timeout(self.limits.upload_seconds):
                uploads = await receive(request.stream(), kind, folder, self.limits)
        except TimeoutError:
            most = self.limits.upload_seconds
            words = f"the upload took more than {most:g} s"
            raise Problem(408, "limit-seconds", words, limit="seconds", allowed=most) from None
        return ConversionRequest(uploads, folder, config, form, soft)

    async def _finished(self, order: ConversionRequest, request: Request) -> list[Outcome] | None:
        """The outcomes; None if the client went away, and with it the work."""
        work = asyncio.wrap_future(self.engine.submit(order))
        gone = asyncio.ensure_future(disconnected(request))
        try:
            both: set[asyncio.Future[Any]] = {work, gone}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            self.counters.cancelled.inc()
            order.cancelled.set()
            await asyncio.wait({work})  # its place in the queue is free when its work has stopped
            work.exception()
            return None
        finally:
            order.cancelled.set()
            gone.cancel()
            work.cancel()  # if the process ends before it does

    def _answer(self, request: Request, order: ConversionRequest, outcomes: list[Outcome]) -> Response:
        for outcome in outcomes:
            self.counters.pages.inc(len(outcome.pages))
            self.counters.megapixels.inc(sum(page.megapixels for page in outcome.pages))
        problems = [outcome.problem for outcome in outcomes if outcome.problem is not None]
        if len(problems) == len(outcomes):
            raise together(problems)
        first = outcomes[0]
        files = first.softs if order.soft else first.outputs
        wants_json = "application/json" in request.headers.get("accept", "")
        if len(outcomes) == len(files) == 1 and not wants_json:
            flags = sorted({flag for page in first.pages for flag in page.flags})
            kind = "png" if order.soft else order.format
            return FileResponse(
                files[0],
                media_type=MEDIA[kind],
                filename=result_name(first.upload.name, ENDINGS[kind], soft=order.soft),
                headers={"Drmamba-Flags": ",".join(flags), "Drmamba-Model": self.engine.binarizer.sha256},
                background=BackgroundTask(shutil.rmtree, order.folder, ignore_errors=True),
            )
        expires = datetime.now(UTC) + timedelta(minutes=self.limits.keep_minutes)
        return JSONResponse(
            {
                "model": self.model(),
                "settings": order.config.to_dict(),
                "expires": expires.isoformat(timespec="seconds"),
                "files": [self._file(order, outcome) for outcome in outcomes],
            }
        )

    def _file(self, order: ConversionRequest, outcome: Outcome) -> dict[str, Any]:
        name = outcome.upload.name
        if outcome.problem is not None:
            return {"name": name, "status": "failed", "problem": outcome.problem.body(), "pages": []}
        ending, media = ENDINGS[order.format], MEDIA[order.format]
        links = [self._link(path, media, name, ending) for path in outcome.outputs]
        softs = [self._link(path, MEDIA["png"], name, ".png", soft=True) for path in outcome.softs]
        pages = []
        for i, page in enumerate(outcome.pages):
            link, soft = links[min(i, len(links) - 1)], softs[i] if softs else None
            notes = [FLAGS.get(flag, flag) for flag in page.flags]
            facts = {"page": page.page, "megapixels": page.megapixels, "link": link, "soft": soft}
            pages.append(facts | page.quality | {"notes": notes})
        return {"name": name, "status": "done", "problem": None, "pages": pages}

    def _link(self, path: Path, media: str, name: str, ending: str, *, soft: bool = False) -> str:
        return f"/v1/results/{self.store.put(path, media, result_name(name, ending, soft=soft))}"

    def model(self) -> dict[str, Any]:
        """The model in use, as a JSON answer names it."""
        origin, binarizer = self.engine.binarizer.provenance, self.engine.binarizer
        known = {"name": origin.preset, "sha256": binarizer.sha256, "trained": origin.trained}
        return known | {"data": list(origin.data), "held_out": origin.held_out, "metrics": origin.metrics}

    def close(self) -> None:
        """Finish what is in hand and remove what is stored."""
        self.engine.close()
        self.store.close()


def build(service: Service) -> FastAPI:
    """The API of a service."""

    @contextlib.asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        sweeper = asyncio.ensure_future(sweep(service.store))
        yield
        sweeper.cancel()

    app = FastAPI(
        title="drmamba", version=drmamba.__version__, lifespan=life, docs_url=None, redoc_url=None,
        description="Clean black-and-white pages from degraded document scans.",
    )  # fmt: skip  # no docs_url: it would load scripts from elsewhere

    @app.post(
        "/v1/binarize",
        summary="Binarize one file or several",
        description="Send files as the form field `file`, or one file as the body. One result comes back as a "
        "file; several (or any, with `Accept: application/json`) as JSON with flags and links.",
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
        except CheckpointError as error:  # before the files are read
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

    @app.get("/v1/models", summary="The models in use", responses=described(401))
    async def models() -> dict[str, list[dict[str, Any]]]:
        return {"models": [service.model()]}

    @app.get("/healthz", summary="Whether the process lives")
    async def health() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/readyz", summary="Whether requests are welcome", responses=described(503))
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
        summary="Counters for Prometheus",
        response_class=Response,
        responses={200: {"description": "Text", "content": {"text/plain": {}}}, **described(401)},
    )
    async def metrics() -> Response:
        return Response(service.counters.text(), media_type="text/plain; version=0.0.4")

    answer_problems(app)
    return app


def answer_problems(app: FastAPI) -> None:
    """Everything that goes wrong becomes a problem+json."""

    def shown(problem: Problem) -> JSONResponse:
        return JSONResponse(problem.body(), problem.status, problem.headers, MEDIA_TYPE)

    @app.exception_handler(Problem)
    async def _problem(_: Request, problem: Problem) -> Response:
        return shown(problem)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> Response:
        if any(e["loc"][0] == "path" for e in error.errors()):
            return shown(Problem(404, "gone", GONE))
        wrong = [f"{'.'.join(str(p) for p in e['loc'][1:])}: {e['msg']}" for e in error.errors()]
        return shown(Problem(422, "invalid", "; ".join(wrong)))

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        return shown(Problem(error.status_code, "http", str(error.detail), headers=headers))

    # OSError by name: a full disk is foreseen, and must not reach the server's own report of the unforeseen.
    @app.exception_handler(OSError)
    @app.exception_handler(Exception)
    async def _fault(_: Request, error: Exception) -> Response:
        problem = fault(error)
        foreseen = problem.status != 500
        log.error("a request failed: %s", error, exc_info=None if foreseen else error)
        return shown(problem)


@dataclass(frozen=True)
class Refusal:
    """An ASGI application that only says no. Plain ASGI, because a route of such takes every method."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)

    async def __call__(self, *_: Any) -> None:
        raise HTTPException(self.status, headers=self.headers)


def claim(app: FastAPI) -> None:
    """Keep the API's paths from the page, which answers in its own way whatever comes to it."""
    known = [route for route in app.routes if isinstance(route, Route)]
    for route in known:
        allowed = {"Allow": ", ".join(sorted(route.methods or ()))}
        app.router.routes.append(Route(route.path, Refusal(405, allowed)))
    app.router.routes.append(Route("/v1/{rest:path}", Refusal(404)))


async def discard(request: Request, limits: ServiceConfig) -> None:
    """Read on for a while without keeping anything: a client that is still sending misses the answer."""
    if request.headers.get("expect", "").lower() == "100-continue":
        return  # this one waits for our word before it sends
    seen = 0
    with contextlib.suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(min(10.0, limits.upload_seconds)):
            async for chunk in request.stream():
                seen += len(chunk)
                if seen > limits.max_bytes:
                    return


async def disconnected(request: Request) -> None:
    """Returns when the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        continue


async def sweep(store: Store) -> None:
    """Remove expired results now and then."""
    while True:
        await asyncio.sleep(min(30.0, store.keep_seconds / 2))
        store.sweep()


def result_name(name: str, ending: str, *, soft: bool = False) -> str:
    """What the client may call a result."""
    return f"{Path(name).stem}.{'soft' if soft else 'bin'}{ending}"
