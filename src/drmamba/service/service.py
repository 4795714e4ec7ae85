"""A request from its first byte to its answer: a place in the queue, the upload, the work, the answer."""

from __future__ import annotations

import asyncio
import contextlib
import math
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drmamba.config import InferenceConfig, ServiceConfig
from drmamba.errors import MissingExtra
from drmamba.service.answers import answer_for
from drmamba.service.counters import Counters
from drmamba.service.engine import ConversionEngine, ConversionRequest, Outcome
from drmamba.service.problems import Problem, busy, stopping
from drmamba.service.result_store import ResultStore
from drmamba.service.schemas import Format
from drmamba.service.upload import receive, too_large

try:
    from fastapi import Request, Response
    from starlette.requests import ClientDisconnect
except ImportError as error:
    raise MissingExtra("fastapi", "web") from error

CLIENT_GONE = 499  # status of an answer that nobody reads


@dataclass
class Service:
    """A running service: the state that its routes share."""

    engine: ConversionEngine
    limits: ServiceConfig
    store: ResultStore = field(init=False)
    counters: Counters = field(init=False)
    held: int = 0  # requests with a place in the queue
    stopping: bool = False  # whether new requests are refused because the service shuts down
    usual_seconds: float = 1.0  # moving average of the time that a request takes

    def __post_init__(self) -> None:
        self.store = ResultStore(60 * self.limits.keep_minutes, self.limits.keep_bytes)
        self.counters = Counters(lambda: self.held)

    async def binarize(self, request: Request, config: InferenceConfig, form: Format, soft: bool) -> Response:
        """Receive the files of a request, binarize them and return the answer."""
        if self.stopping:
            raise stopping()
        if self.held >= self.engine.threads + self.limits.queue:
            self.counters.rejected.inc()
            await discard(request, self.limits)
            raise busy(math.ceil(self.usual_seconds * self.held / self.engine.threads))
        self.held += 1
        folder = self.store.new_folder()
        answer = None
        try:
            conversion = await self._receive(request, folder, config, form, soft)
            started = asyncio.get_running_loop().time()
            outcomes = await self._finished(conversion, request)
            if outcomes is None:
                return Response(status_code=CLIENT_GONE)
            passed = asyncio.get_running_loop().time() - started
            self.usual_seconds += 0.2 * (passed - self.usual_seconds)
            for outcome in outcomes:
                self.counters.pages.inc(len(outcome.pages))
                self.counters.megapixels.inc(sum(page.megapixels for page in outcome.pages))
            wants_json = "application/json" in request.headers.get("accept", "")
            answer = answer_for(conversion, outcomes, self.model(), self.store, wants_json=wants_json)
            return answer
        except ClientDisconnect:
            self.counters.cancelled.inc()
            return Response(status_code=CLIENT_GONE)
        finally:
            self.held -= 1
            if answer is None or answer.background is None:
                shutil.rmtree(folder, ignore_errors=True)

    async def _receive(
        self,
        request: Request,
        folder: Path,
        config: InferenceConfig,
        form: Format,
        soft: bool,
    ) -> ConversionRequest:
        """Write the uploaded files to the folder and return the request to convert them."""
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

    async def _finished(self, conversion: ConversionRequest, request: Request) -> list[Outcome] | None:
        """Return the outcomes, or None if the client went away and the work was cancelled."""
        work = asyncio.wrap_future(self.engine.submit(conversion))
        gone = asyncio.ensure_future(disconnected(request))
        try:
            both: set[asyncio.Future[Any]] = {work, gone}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            self.counters.cancelled.inc()
            conversion.cancelled.set()
            await asyncio.wait({work})  # The place in the queue is free only when the work has stopped.
            work.exception()
            return None
        finally:
            conversion.cancelled.set()
            gone.cancel()
            work.cancel()  # The process may end before the work does.

    def model(self) -> dict[str, Any]:
        """Return the description of the model in use for a JSON answer."""
        origin, binarizer = self.engine.binarizer.provenance, self.engine.binarizer
        known = {"name": origin.preset, "sha256": binarizer.sha256, "trained": origin.trained}
        return known | {"data": list(origin.data), "held_out": origin.held_out, "metrics": origin.metrics}

    async def remove_expired(self) -> None:
        """Remove expired results from time to time, until cancelled."""
        while True:
            await asyncio.sleep(min(30.0, self.store.keep_seconds / 2))
            self.store.sweep()

    def close(self) -> None:
        """Finish the work in progress and remove all stored results."""
        self.engine.close()
        self.store.close()


async def discard(request: Request, limits: ServiceConfig) -> None:
    """Read a rejected request for a while: a client that is still sending would miss the answer."""
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
