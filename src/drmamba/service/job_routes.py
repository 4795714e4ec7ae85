"""The routes of jobs, which the web page uses: start, ask, cancel, look at pages, download."""

from __future__ import annotations

import asyncio
import shutil
from concurrent.futures import Future
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from drmamba.errors import MissingExtra
from drmamba.images.reading.decoder_process import IsolatedPage
from drmamba.service.answers import result_name
from drmamba.service.downloads import SUFFIXES, TYPES, Download, download_path
from drmamba.service.explorations import PageExplorer
from drmamba.service.jobs import Job, JobBook
from drmamba.service.pictures import LAYERS, scan_picture, thumbnail
from drmamba.service.problems import KNOWN, Problem, described, out_of_memory, problem_for
from drmamba.service.progress import Cancelled, Watch
from drmamba.service.schemas import BODY, FILES, JOB, PICTURES, PROGRESS
from drmamba.service.service import Service, disconnected
from drmamba.service.settings import RequestSettings, SettingsQuery

try:
    from fastapi import FastAPI, Query, Request, Response
    from fastapi import Path as PathParameter
    from fastapi.responses import FileResponse, JSONResponse
    from starlette.requests import ClientDisconnect
except ImportError as error:
    raise MissingExtra("fastapi", "web") from error

T = TypeVar("T")
SCAN_SHARE = 0.5  # of the memory for pages, which the picture of a scan may take
JobName = Annotated[str, PathParameter(pattern="^[A-Za-z0-9_-]{32}$", description="The job's `id`.")]
Number = Annotated[int, PathParameter(ge=1, le=100_000, description="Counted from 1.")]
Layer = Annotated[
    Literal["result", "probability", "detail", "background", "gate", "removed"],
    PathParameter(
        description="What the picture shows; the last four are D, B, beta and beta * B of the network."
    ),
]
assert Layer.__args__[0].__args__ == LAYERS  # type: ignore[attr-defined]
Form = Annotated[Download, Query(description="The format; zip holds a PNG a page and a report.")]
Run = Annotated[int | None, Query(ge=1, description="The job's `run`, if the picture must be of this one.")]
KEPT = {"Cache-Control": "private, max-age=900"}  # for addresses whose answer does not change


def add_job_routes(app: FastAPI, service: Service, book: JobBook, explorer: PageExplorer) -> None:
    """Add the routes of jobs to the API."""

    def answer(job: Job, status: int = 200) -> JSONResponse:
        place = {"Location": f"/v1/jobs/{job.id}"} if status == 202 else None
        return JSONResponse(job.facts(service.store.keep_seconds), status, place)

    def parsed(query: SettingsQuery) -> RequestSettings:
        settings = RequestSettings.parse(query, service.engine.binarizer, service.engine.reading)
        if settings.format != "png" or settings.soft:
            words = (
                "a job makes PNG files, which can be downloaded in other formats; leave format and soft out"
            )
            raise Problem(422, "invalid", words)
        return settings

    @app.post(
        "/v1/jobs",
        status_code=202,
        summary="Start a job",
        description="Send files as to `/v1/binarize`. The answer comes as soon as they have arrived; the pages are "
        "converted one after the other, and a page that fails costs only itself.",
        response_class=Response,
        responses={
            202: {"description": "The job", "content": JOB},
            **described(400, 401, 403, 408, 413, 415, 421, 422, 429, 500, 503, 507),
        },
        openapi_extra={"requestBody": BODY},
    )
    async def start(request: Request, query: Annotated[SettingsQuery, Query()]) -> Response:
        settings = parsed(query)
        try:
            uploads = await service.receive(request)
        except ClientDisconnect:
            service.counters.cancelled.inc()
            return Response(status_code=499)
        try:
            return answer(book.add(uploads, settings), 202)
        except BaseException:
            service.quota.free(uploads.size)
            shutil.rmtree(uploads.folder, ignore_errors=True)
            raise

    @app.get(
        "/v1/jobs/{name}",
        summary="Describe a job and its pages",
        response_class=Response,
        responses={200: {"description": "The job", "content": JOB}, **described(401, 404, 421, 422)},
    )
    async def describe(name: JobName) -> Response:
        return answer(book.get(name))

    @app.get(
        "/v1/jobs/{name}/progress",
        summary="Tell how far a job is",
        response_class=Response,
        responses={
            200: {"description": "The progress", "content": PROGRESS},
            **described(401, 404, 421, 422),
        },
    )
    async def progress(name: JobName) -> Response:
        return JSONResponse(book.get(name).progress())

    @app.put(
        "/v1/jobs/{name}",
        summary="Convert the files of a job again with other settings",
        response_class=Response,
        responses={
            200: {"description": "The job", "content": JOB},
            **described(401, 403, 404, 421, 422, 429, 500, 503, 507),
        },
    )
    async def restart(name: JobName, query: Annotated[SettingsQuery, Query()]) -> Response:
        job, settings = book.get(name), parsed(query)
        await book.restart(job, settings)
        return answer(job)

    @app.post(
        "/v1/jobs/{name}/cancel",
        summary="Stop the work on a job",
        description="The worker is free when the window in progress is done; pages that are done stay.",
        response_class=Response,
        responses={200: {"description": "The job", "content": JOB}, **described(401, 403, 404, 421, 422)},
    )
    async def cancel(name: JobName) -> Response:
        job = book.get(name)
        await book.stop(job)
        return answer(job)

    @app.delete(
        "/v1/jobs/{name}",
        status_code=204,
        summary="Stop a job and remove its files",
        response_class=Response,
        responses=described(401, 403, 404, 421, 422),
    )
    async def remove(name: JobName) -> Response:
        book.drop(book.get(name))
        return Response(status_code=204)

    @app.get(
        "/v1/jobs/{name}/files/{file}/pages/{page}/scan",
        summary="Get a picture of the scan",
        response_class=Response,
        responses={
            200: {"description": "A JPEG", "content": {"image/jpeg": PICTURES["image/png"]}},
            **described(401, 404, 413, 421, 422, 500),
        },
    )
    async def scan(request: Request, name: JobName, file: Number, page: Number, run: Run = None) -> Response:
        job = of_run(book.get(name), run)
        job.file(file)
        upload, ledger = job.uploads.files[file - 1], service.engine.ledger

        def picture(found: IsolatedPage) -> bytes:
            most = min(3 * found.height * found.width, int(SCAN_SHARE * ledger.total))
            if found.decode_bytes + most > ledger.total:
                raise out_of_memory(found.height * found.width)
            with ledger.hold(found.decode_bytes + most, upload.path):
                found.decode()
                return scan_picture(found, most)

        watch = Watch()
        work = service.engine.with_page(upload.path, page, job.settings.reading, watch, picture)
        data = await awaited(request, work, watch, upload.path, f"page {page} of {upload.name}")
        return Response(data, media_type="image/jpeg", headers=KEPT if run else None)

    @app.get(
        "/v1/jobs/{name}/files/{file}/pages/{page}/thumbnail",
        summary="Get a small picture of the result",
        response_class=Response,
        responses={200: {"description": "A PNG", "content": PICTURES}, **described(401, 404, 421, 422)},
    )
    async def small(name: JobName, file: Number, page: Number, run: Run = None) -> Response:
        found = of_run(book.get(name), run).page(file, page)
        assert found.output is not None
        data = await asyncio.to_thread(thumbnail, found.output)
        return Response(data, media_type="image/png", headers=KEPT if run else None)

    @app.get(
        "/v1/jobs/{name}/files/{file}/pages/{page}/result",
        summary="Get the result of a page as it is",
        response_class=Response,
        responses={200: {"description": "A PNG", "content": PICTURES}, **described(401, 404, 421, 422)},
    )
    async def result(name: JobName, file: Number, page: Number, run: Run = None) -> Response:
        found = of_run(book.get(name), run).page(file, page)
        assert found.output is not None
        return FileResponse(found.output, media_type="image/png", headers=KEPT if run else None)

    @app.get(
        "/v1/jobs/{name}/files/{file}/pages/{page}/layers/{layer}",
        summary="Explain a page",
        description="The page is run through the network once; after that other values of `suppress` and `threshold` "
        "are faster. The headers `Drmamba-Low` and `Drmamba-High` are the values of a map's first and last colour.",
        response_class=Response,
        responses={
            200: {"description": "A PNG", "content": PICTURES},
            **described(401, 404, 413, 421, 422, 429, 500),
        },
    )
    async def explain(
        request: Request,
        name: JobName,
        file: Number,
        page: Number,
        layer: Layer,
        query: Annotated[SettingsQuery, Query()],
    ) -> Response:
        job, settings = book.get(name), parsed(query)
        job.file(file)
        if job.exploration is not None:
            raise Problem(429, "busy", "a page of this job is being explained", headers={"Retry-After": "2"})
        upload, watch = job.uploads.files[file - 1], Watch()
        watch.progress.begin_file(1)
        job.exploration = watch.progress
        try:
            work = explorer.layer((job.id, file, page), upload.path, page, settings, layer, watch)
            found = await awaited(request, work, watch, upload.path, f"page {page} of {upload.name}")
        finally:
            job.exploration = None
        limits = (
            {}
            if found.low is None
            else {"Drmamba-Low": f"{found.low:.4g}", "Drmamba-High": f"{found.high:.4g}"}
        )
        return Response(found.data, media_type="image/png", headers=limits)

    @app.get(
        "/v1/jobs/{name}/download",
        summary="Download all pages as one file",
        response_class=Response,
        responses={
            200: {"description": "The file", "content": FILES},
            **described(401, 404, 421, 422, 500, 507),
        },
    )
    async def download(name: JobName, format: Form = "zip") -> Response:  # noqa: A002
        return await downloaded(book.get(name), format)

    @app.get(
        "/v1/jobs/{name}/files/{file}/pages/{page}/download",
        summary="Download one page",
        response_class=Response,
        responses={
            200: {"description": "The file", "content": FILES},
            **described(401, 404, 421, 422, 500, 507),
        },
    )
    async def download_page(name: JobName, file: Number, page: Number, format: Form = "png") -> Response:  # noqa: A002
        job = book.get(name)
        job.page(file, page)
        return await downloaded(job, format, file, page)

    async def downloaded(job: Job, form: Download, file: int = 0, page: int = 0) -> Response:
        path = await asyncio.to_thread(download_path, service.engine, job, form, file, page)
        stem = Path(job.files[max(0, file - 1)].name).stem if file or len(job.files) == 1 else "pages"
        if page and job.page(file, page).record.pages > 1:
            stem += f"-{page:04d}"
        named = f"{stem}.zip" if form == "zip" else result_name(f"{stem}.x", SUFFIXES[form])
        return FileResponse(path, media_type=TYPES[form], filename=named)


def of_run(job: Job, run: int | None) -> Job:
    """Return the job if it is still in this run."""
    if run is not None and run != job.run:
        raise Problem(404, "gone", f"the job has been converted again and is in run {job.run}")
    return job


async def awaited(request: Request, work: Future[T], watch: Watch, path: Path, name: str) -> T:
    """Return what a thread makes; it is cancelled if the client goes away, and an error names the page."""
    future, gone = asyncio.wrap_future(work), asyncio.ensure_future(disconnected(request))
    try:
        both: set[asyncio.Future[Any]] = {future, gone}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if not future.done():
            watch.cancelled.set()
            await asyncio.wait({future})
        return future.result()
    except Cancelled as error:
        raise Problem(404, "gone", "the client went away") from error
    except Problem as error:
        raise error if error.status == 404 else problem_for(error, path, name) from error
    except KNOWN as error:
        raise problem_for(error, path, name) from error
    finally:
        watch.cancelled.set()
        gone.cancel()
        future.cancel()
