"""A request from its first byte to its answer: the upload, a place in the queue, the work, the answer."""

from __future__ import annotations

import asyncio
import contextlib
import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drmamba.config import ServiceConfig
from drmamba.errors import MissingExtra
from drmamba.service.answers import answer_for
from drmamba.service.counters import Counters
from drmamba.service.engine import ConversionEngine, ConversionRequest, FileOutcome, Upload
from drmamba.service.problems import busy, stopping
from drmamba.service.result_store import ResultStore
from drmamba.service.settings import RequestSettings
from drmamba.service.upload import UploadQuota, receive, too_large

try:
    from fastapi import Request, Response
    from starlette.requests import ClientDisconnect
except ImportError as error:
    raise MissingExtra("fastapi", "web") from error

CLIENT_GONE = 499  # status of an answer that nobody reads
MAX_RECEIVING = 200  # uploads that may arrive at the same time


@dataclass
class ReceivedUploads:
    """The files of a request, in a folder of their own."""

    folder: Path
    files: list[Upload] = field(default_factory=list)
    size: int = 0  # bytes, which count against the quota


@dataclass
class Service:
    """A running service: the state that its routes share. Only the event loop's thread changes it."""

    engine: ConversionEngine
    limits: ServiceConfig
    store: ResultStore = field(init=False)
    counters: Counters = field(init=False)
    quota: UploadQuota = field(init=False)
    held: int = 0  # requests with a place in the queue
    receiving: int = 0  # uploads that are arriving
    stopping: bool = False  # whether new requests are refused because the service shuts down
    usual_seconds: float = 1.0  # moving average of the time that a request takes

    def __post_init__(self) -> None:
        self.store = ResultStore(60 * self.limits.keep_minutes, self.limits.keep_bytes)
        self.counters = Counters(lambda: self.held)
        self.quota = UploadQuota(self.limits.upload_bytes, lambda _: None)

    async def binarize(self, request: Request, settings: RequestSettings) -> Response:
        """Receive the files of a request, binarize them and return the answer."""
        answer = uploads = None
        try:
            uploads = await self.receive(request)
            conversion = ConversionRequest(uploads.files, uploads.folder, settings)
            with self.place():
                outcomes = await self._finished(conversion, request)
            if outcomes is None:
                return Response(status_code=CLIENT_GONE)
            wants_json = "application/json" in request.headers.get("accept", "")
            answer = answer_for(conversion, outcomes, self.model(), self.store, wants_json=wants_json)
            return answer
        except ClientDisconnect:
            self.counters.cancelled.inc()
            return Response(status_code=CLIENT_GONE)
        finally:
            if uploads is not None:
                self.quota.free(uploads.size)
                if answer is None or answer.background is None:
                    shutil.rmtree(uploads.folder, ignore_errors=True)

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """Hold a place in the queue, or raise if there is none; uploads that still arrive hold none."""
        self.refuse_if_full()
        self.held += 1
        try:
            yield
        finally:
            self.held -= 1

    def refuse_if_full(self) -> None:
        """Raise if the service is shutting down or the queue is full."""
        if self.stopping:
            raise stopping()
        if self.held >= self.engine.threads + self.limits.queue:
            self.counters.rejected.inc()
            raise busy(math.ceil(self.usual_seconds * self.held / self.engine.threads))

    async def receive(self, request: Request) -> ReceivedUploads:
        """Write the uploaded files to a new folder; when they are not needed any more, the caller removes it."""
        self.refuse_if_full()
        if self.receiving >= MAX_RECEIVING:
            raise busy(5, "too many uploads arrive at the same time")
        declared = request.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > self.limits.max_bytes:
            raise too_large(self.limits)
        uploads = ReceivedUploads(self.store.new_folder())

        def count(size: int) -> None:
            if self.stopping:
                raise stopping()
            self.quota.take(size)
            uploads.size += size

        request.state.received = True
        self.receiving += 1
        try:
            kind = request.headers.get("content-type", "")
            stream = request.stream()
            uploads.files = await receive(stream, kind, uploads.folder, self.limits, count)
        except BaseException:
            self.quota.free(uploads.size)
            shutil.rmtree(uploads.folder, ignore_errors=True)
            raise
        finally:
            self.receiving -= 1
        return uploads

    async def _finished(self, conversion: ConversionRequest, request: Request) -> list[FileOutcome] | None:
        """Return the outcomes, or None if the client went away and the work was cancelled."""
        started = asyncio.get_running_loop().time()
        work = asyncio.wrap_future(self.engine.submit(conversion))
        gone = asyncio.ensure_future(disconnected(request))
        try:
            both: set[asyncio.Future[Any]] = {work, gone}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                outcomes = work.result()
                self.count_work(outcomes, asyncio.get_running_loop().time() - started)
                return outcomes
            self.counters.cancelled.inc()
            conversion.watch.cancelled.set()
            await asyncio.wait({work})  # The place in the queue is free only when the work has stopped.
            work.exception()
            return None
        finally:
            conversion.watch.cancelled.set()
            gone.cancel()
            work.cancel()  # The process may end before the work does.

    def count_work(self, outcomes: list[FileOutcome], seconds: float) -> None:
        """Count the pages of a request that is done."""
        self.usual_seconds += 0.2 * (seconds - self.usual_seconds)
        done = [page.record for outcome in outcomes for page in outcome.pages if page.problem is None]
        self.counters.pages.inc(len(done))
        self.counters.megapixels.inc(sum(record.megapixels for record in done))

    def model(self) -> dict[str, Any]:
        """Return which model made a result, for a JSON answer."""
        origin, binarizer = self.engine.binarizer.provenance, self.engine.binarizer
        return {"name": origin.preset, "sha256": binarizer.sha256, "trained": origin.trained}

    def model_facts(self) -> dict[str, Any]:
        """Return all that is known about the model, its scores included."""
        origin = self.engine.binarizer.provenance
        more = {"data": list(origin.data), "held_out": origin.held_out, "metrics": origin.metrics}
        return self.model() | more

    def close(self) -> None:
        """Finish the work in progress and remove all stored results."""
        self.engine.close()
        self.store.close()


async def discard(request: Request, limits: ServiceConfig) -> None:
    """Read a rejected request for a while: a client that is still sending would miss the answer."""
    if getattr(request.state, "received", False):
        return  # Its files have been read, as far as they came.
    if request.headers.get("expect", "").lower() == "100-continue":
        return  # This client does not send before it is told to.
    seen = 0
    with contextlib.suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(min(10.0, limits.upload_seconds)):
            async for chunk in request.stream():
                seen += len(chunk)
                if seen > limits.max_bytes:
                    return


async def disconnected(request: Request) -> None:
    """Return when the client has disconnected."""
    while (await request.receive())["type"] != "http.disconnect":
        continue
