"""Where windows meet the network: one lane a CPU core or GPU, results in order, the same bytes whatever runs.

On the CPU every window runs alone on one thread. That is also what is fastest for `lite` (two cores, a 512
window, channels-last: 0.145 s with two lanes of one thread, 0.175 s with one lane of two threads, 0.21 s in
batches of four), and it makes results independent of batch size and worker count: no kernel is ever chosen
by them. On GPUs a call always holds `batch` windows, filled up with empty ones.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from drmamba.config import EngineConfig, Precision
from drmamba.errors import CheckpointError
from drmamba.images import RGB
from drmamba.inference.runtime import Reduced, Runtime
from drmamba.inference.tiling import Predict, Probability

if TYPE_CHECKING:
    from torch import nn

T = TypeVar("T")


@dataclass(frozen=True)
class _Asked:
    """What is asked of the network beside its windows."""

    suppress: float
    precision: Precision
    convention: int
    page: Any
    places: list[tuple[int, int]]  # of the windows, where the page is known


class Lanes:
    """A network ready to run on every core or GPU; shared by all pages under way."""

    def __init__(self, network: nn.Module | Runtime, config: EngineConfig | None = None) -> None:
        self.config = config = config or EngineConfig()
        if not isinstance(network, Runtime):
            from drmamba.inference.torch_runtime import TorchRuntime  # here: other runtimes need no torch

            network = TorchRuntime(network, config)
        self.runtime, self.devices = network, network.devices
        self.count, self.batch = network.count, network.batch
        self._lane = threading.local()
        self._counting = threading.Lock()
        self.seconds, self.pixels = 0.0, 0  # CPU time inside the network, and what it has seen
        # Threads know the runtime, not these lanes: lanes that nobody holds any more end by themselves.
        self._pool = ThreadPoolExecutor(self.count, "drmamba-lane", _enter, (self._lane, network))
        here = threading.Barrier(self.count)
        for started in [self._pool.submit(here.wait) for _ in range(self.count)]:  # every lane, now
            started.result()
        network.entered()

    def predict(
        self,
        *,
        suppress: float = 1.0,
        min_contrast: int = 0,
        precision: Precision = "float32",
        convention: int = 0,
        page: Any = None,
        places: Sequence[tuple[int, int]] = (),
    ) -> Predict:
        """Windows to probabilities; those with less than min_contrast are blank without being run.

        `page` is what `look` found on the page that the windows come from, and `places` the top and left of each of
        them, in the order in which they come.
        """
        self.runtime.check(precision)

        def stream(windows: Iterator[RGB]) -> Iterator[Probability]:
            waiting: deque[Future[list[Probability]]] = deque()
            where = iter(places)
            while batch := list(islice(windows, self.batch)):
                asked = _Asked(suppress, precision, convention, page, list(islice(where, len(batch))))
                waiting.append(self._pool.submit(self._run, batch, min_contrast, asked))
                if len(waiting) > self.count + 1:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()

        return stream

    def look(self, reduced: Reduced) -> Any:
        """What the network finds on a reduced page, for `predict`."""
        return self.submit(lambda network: self.runtime.look(network, reduced)).result()

    def submit(self, work: Callable[[Any], T]) -> Future[T]:
        """Run anything else with the lane's network (of torch), in turn with the windows."""
        return self._pool.submit(lambda: work(self._lane.network))

    def _run(self, windows: list[RGB], min_contrast: int, asked: _Asked) -> list[Probability]:
        results = [np.zeros(window.shape[:2], np.float32) for window in windows]
        seen = [i for i, window in enumerate(windows) if contrast(window) >= min_contrast]
        if not seen:
            return results
        batch = np.zeros((self.batch, *windows[0].shape), np.uint8)
        situation: dict[str, Any] = {}
        if asked.convention:
            situation["convention"] = asked.convention
        if asked.page is not None:
            places = np.zeros((self.batch, 2), np.float32)
            places[: len(seen)] = [asked.places[i] for i in seen]
            situation |= {"page": asked.page, "places": places}
        for place, i in enumerate(seen):
            batch[place] = windows[i]
        started = time.thread_time()
        found = self.runtime.run(self._lane.network, batch, asked.suppress, asked.precision, **situation)
        with self._counting:
            self.seconds += time.thread_time() - started
            self.pixels += found.size
        if not np.isfinite(found).all():
            raise CheckpointError("the model gives values that are not numbers: its weights are broken")
        for place, i in enumerate(seen):
            results[i] = found[place]
        return results

    def close(self) -> None:
        """Stop the lanes; windows under way are finished first."""
        self._pool.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _enter(lane: threading.local, runtime: Runtime) -> None:
    lane.network = runtime.enter()


def contrast(window: RGB) -> int:
    """The largest spread of any colour channel, in levels of 255."""
    spread = window.max(axis=0).max(axis=0).astype(np.int16) - window.min(axis=0).min(axis=0)
    return int(spread.max())
