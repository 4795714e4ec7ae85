"""Every error of the API as an answer in the format problem+json."""

from __future__ import annotations

import logging

from drmamba.config import ServiceConfig
from drmamba.errors import MissingExtra
from drmamba.service.problems import MEDIA_TYPE, Problem, internal_error
from drmamba.service.service import discard

try:
    from fastapi import FastAPI, Request, Response
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from starlette.exceptions import HTTPException
except ImportError as error:
    raise MissingExtra("fastapi", "web") from error

NO_PATH = "there is no such path; /docs lists the paths of this API"
log = logging.getLogger("drmamba.service")


def answer_problems(app: FastAPI, limits: ServiceConfig) -> None:
    """Let the application answer every error with a problem+json."""

    def answer(problem: Problem) -> JSONResponse:
        return JSONResponse(problem.body(), problem.status, problem.headers, MEDIA_TYPE)

    @app.exception_handler(Problem)
    async def _problem(request: Request, problem: Problem) -> Response:
        await discard(request, limits)
        return answer(problem)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        await discard(request, limits)
        if any(e["loc"][0] == "path" for e in error.errors()):
            return answer(Problem(404, "gone", NO_PATH))
        wrong = [f"{'.'.join(str(p) for p in e['loc'][1:])}: {e['msg']}" for e in error.errors()]
        return answer(Problem(422, "invalid", "; ".join(wrong)))

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        await discard(request, limits)
        headers = dict(error.headers or {})
        words = str(error.detail)
        if error.status_code == 404:
            words = NO_PATH
        if error.status_code == 405:
            words = f"{request.method} is not supported here; use {headers.get('Allow', 'another method')}"
        return answer(Problem(error.status_code, "http", words, headers=headers))

    # OSError is registered by name: a full disk is expected, and the server must not report it as unexpected.
    @app.exception_handler(OSError)
    @app.exception_handler(Exception)
    async def _unexpected(_: Request, error: Exception) -> Response:
        problem = internal_error(error)
        expected = problem.status != 500
        log.error("a request failed: %s", error, exc_info=None if expected else error)
        return answer(problem)
