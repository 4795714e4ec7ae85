"""Every error of the API as an answer in the format problem+json."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from drmamba.errors import MissingExtra
from drmamba.service.problems import GONE, MEDIA_TYPE, Problem, internal_error

try:
    from fastapi import FastAPI, Request, Response
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from starlette.exceptions import HTTPException
    from starlette.routing import Route
except ImportError as error:
    raise MissingExtra("fastapi", "web") from error

log = logging.getLogger("drmamba.service")


def answer_problems(app: FastAPI) -> None:
    """Let the application answer every error with a problem+json."""

    def answer(problem: Problem) -> JSONResponse:
        return JSONResponse(problem.body(), problem.status, problem.headers, MEDIA_TYPE)

    @app.exception_handler(Problem)
    async def _problem(_: Request, problem: Problem) -> Response:
        return answer(problem)

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> Response:
        if any(e["loc"][0] == "path" for e in error.errors()):
            return answer(Problem(404, "gone", GONE))
        wrong = [f"{'.'.join(str(p) for p in e['loc'][1:])}: {e['msg']}" for e in error.errors()]
        return answer(Problem(422, "invalid", "; ".join(wrong)))

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> Response:
        headers = dict(error.headers or {})
        return answer(Problem(error.status_code, "http", str(error.detail), headers=headers))

    # OSError is registered by name: a full disk is expected, and the server must not report it as unexpected.
    @app.exception_handler(OSError)
    @app.exception_handler(Exception)
    async def _unexpected(_: Request, error: Exception) -> Response:
        problem = internal_error(error)
        expected = problem.status != 500
        log.error("a request failed: %s", error, exc_info=None if expected else error)
        return answer(problem)


@dataclass(frozen=True)
class Refusal:
    """An application that only refuses. It is plain ASGI because such a route accepts every method."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)

    async def __call__(self, *_: Any) -> None:
        raise HTTPException(self.status, headers=self.headers)


def reserve_api_paths(app: FastAPI) -> None:
    """Keep wrong requests to the API's paths from the web page, which would answer them with HTML."""
    known = [route for route in app.routes if isinstance(route, Route)]
    for route in known:
        allowed = {"Allow": ", ".join(sorted(route.methods or ()))}
        app.router.routes.append(Route(route.path, Refusal(405, allowed)))
    app.router.routes.append(Route("/v1/{rest:path}", Refusal(404)))
