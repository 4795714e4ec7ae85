"""The worker pool: one thread a CPU core or GPU runs windows; results come in order and do not depend on the pool.

On the CPU every window runs alone on one thread. For `lite` that is also the fastest way (two cores, a window of 512,
channels-last: 0.145 s with two workers of one thread, 0.175 s with one worker of two threads, 0.21 s in batches of
four), and it makes results independent of the batch size and the number of workers, because no kernel is ever chosen
by them. On GPUs a call always holds `batch` windows of one size and is filled up with empty ones.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from drmamba.config import EngineConfig, Precision
from drmamba.errors import CheckpointError, InputError
from drmamba.images import RGB
from drmamba.inference.analysis.contrast import contrast
from drmamba.inference.runtime.base import ReducedPage, Runtime
from drmamba.inference.tiling import Predict, Probability

if TYPE_CHECKING:
    from torch import nn

T = TypeVar("T")


@dataclass(frozen=True)
class _Call:
    """What one call to the network needs beside its windows."""

    suppress: float
    precision: Precision
    convention: int
    page: Any
    places: list[tuple[int, int]]  # the places of the windows, if the page is known
    wanted: Callable[[], bool]


@dataclass
class _WindowBatch:
    """Windows of one size that go to the network together."""

    windows: list[RGB] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    results: Future[list[Probability]] | None = None  # None until the batch is under way


class WorkerPool:
    """A network that runs on every core or GPU; all pages under way share it."""

    def __init__(self, network: nn.Module | Runtime, config: EngineConfig | None = None) -> None:
        self.config = config = config or EngineConfig()
        if not isinstance(network, Runtime):
            from drmamba.inference.runtime.torch import TorchRuntime  # other runtimes need no torch

            network = TorchRuntime(network, config)
        self.runtime, self.devices = network, network.devices
        self.count, self.batch = network.count, network.batch
        self._process = os.getpid()
        self._worker = threading.local()
        self._counting = threading.Lock()
        self.seconds, self.pixels = 0.0, 0  # CPU time inside the network, and the pixels that it has seen
        # The threads hold the runtime and not this pool, so a pool that nobody holds any more ends by itself.
        self._threads = ThreadPoolExecutor(self.count, "drmamba-worker", _enter, (self._worker, network))
        started = threading.Barrier(self.count)  # makes every thread start now
        for waiting in [self._threads.submit(started.wait) for _ in range(self.count)]:
            waiting.result()
        network.entered()

    def predict(
        self,
        *,
        suppress: float = 1.0,
        min_contrast: int = 0,
        precision: Precision = "auto",
        convention: int = 0,
        page: Any = None,
        places: Sequence[tuple[int, int]] = (),
        wanted: Callable[[], bool] = lambda: True,
    ) -> Predict:
        """Return a prediction; windows with less contrast than `min_contrast` are blank without being run.

        `page` is what `see_page` found on the page that the windows come from, and `places` holds the top and left of
        each window, in the order in which they come. Once `wanted` is false, no further window is run.
        """
        precision = self.runtime.precision(precision)
        self._refuse_forked()

        def submit(batch: _WindowBatch) -> None:
            call = _Call(suppress, precision, convention, page, batch.places, wanted)
            batch.results = self._threads.submit(self._run, batch.windows, min_contrast, call)

        def stream(windows: Iterator[RGB]) -> Iterator[Probability]:
            where = iter(places)
            incomplete: dict[tuple[int, ...], _WindowBatch] = {}  # by the size of their windows
            waiting: deque[tuple[_WindowBatch, int]] = deque()
            try:
                for window in windows:
                    batch = incomplete.setdefault(window.shape, _WindowBatch())
                    waiting.append((batch, len(batch.windows)))
                    batch.windows.append(window)
                    batch.places.extend(islice(where, 1))
                    if len(batch.windows) == self.batch:
                        submit(incomplete.pop(window.shape))
                    while len(waiting) > self.batch * (self.count + 1) and waiting[0][0].results:
                        yield _result(*waiting.popleft())
                for batch in incomplete.values():
                    submit(batch)
                while waiting:
                    yield _result(*waiting.popleft())
            finally:  # If nobody wants the rest, windows that have not begun are not computed.
                for batch, _ in waiting:
                    if batch.results is not None:
                        batch.results.cancel()

        return stream

    def see_page(self, reduced: ReducedPage) -> Any:
        """Return what the network finds on a reduced page, for `predict`."""
        return self.submit(lambda network: self.runtime.see_page(network, reduced)).result()

    def submit(self, work: Callable[[Any], T]) -> Future[T]:
        """Run a function with a worker's network; it waits its turn among the windows."""
        self._refuse_forked()
        return self._threads.submit(lambda: work(self._worker.network))

    def _refuse_forked(self) -> None:
        """Raise in a forked process, which has this object but not its threads, and would wait for them for ever."""
        if os.getpid() != self._process:
            raise InputError(
                "this Binarizer belongs to the process that forked this one, and its threads are not here; "
                "make a new Binarizer in this process, or start processes with the method spawn"
            )

    def _run(self, windows: list[RGB], min_contrast: int, call: _Call) -> list[Probability]:
        results = [np.zeros(window.shape[:2], np.float32) for window in windows]
        seen = [i for i, window in enumerate(windows) if contrast(window) >= min_contrast]
        if not seen or not call.wanted():
            return results
        batch = np.zeros((self.batch, *windows[0].shape), np.uint8)
        context: dict[str, Any] = {}
        if call.convention:
            context["convention"] = call.convention
        if call.page is not None:
            places = np.zeros((self.batch, 2), np.float32)
            places[: len(seen)] = [call.places[i] for i in seen]
            context |= {"page": call.page, "places": places}
        for place, i in enumerate(seen):
            batch[place] = windows[i]
        started = time.thread_time()
        found = self.runtime.run(self._worker.network, batch, call.suppress, call.precision, **context)
        with self._counting:
            self.seconds += time.thread_time() - started
            self.pixels += found.size
        if not np.isfinite(found).all():
            raise CheckpointError("the model gives values that are not numbers: its weights are broken")
        for place, i in enumerate(seen):
            results[i] = found[place]
        return results

    def close(self) -> None:
        """Stop the threads; windows under way are finished first."""
        if os.getpid() != self._process:
            return  # The threads stayed in the process that was forked.
        self._threads.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _result(batch: _WindowBatch, number: int) -> Probability:
    assert batch.results is not None
    return batch.results.result()[number]


def _enter(worker: threading.local, runtime: Runtime) -> None:
    worker.network = runtime.enter()
