"""Where windows meet the network: one lane a CPU core or GPU, results in order, the same bytes whatever runs.

On the CPU every window runs alone on one thread. That is also what is fastest for `lite` (two cores, a 512
window, channels-last: 0.145 s with two lanes of one thread, 0.175 s with one lane of two threads, 0.21 s in
batches of four), and it makes results independent of batch size and worker count: no kernel is ever chosen
by them. On GPUs a call always holds `batch` windows, filled up with empty ones.
"""

from __future__ import annotations

import copy
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from types import TracebackType
from typing import Self, TypeVar

import numpy as np
import torch
from torch import nn

from drmamba.config import EngineConfig
from drmamba.errors import BackendError, CheckpointError
from drmamba.images import RGB
from drmamba.inference.tiling import Predict, Probability
from drmamba.model.fuse import fused
from drmamba.model.network import DRMamba

T = TypeVar("T")


class Lanes:
    """A network ready to run on every core or GPU; shared by all pages under way."""

    def __init__(self, network: nn.Module, config: EngineConfig | None = None) -> None:
        self.config = config = config or EngineConfig()
        self.devices = _devices(config.device)
        on_cpu = self.devices[0].type == "cpu"
        self.count = (config.workers or torch.get_num_threads()) if on_cpu else len(self.devices)
        self.batch = 1 if on_cpu else config.batch
        # Batch norms folded, channels-last, a copy: the caller may go on training the network it gave.
        network = fused(network) if isinstance(network, DRMamba) else network.eval().requires_grad_(False)
        self._networks: queue.SimpleQueue[nn.Module] = queue.SimpleQueue()
        for number in range(self.count):
            device = self.devices[number % len(self.devices)]
            own = network if on_cpu else copy.deepcopy(network).to(device)  # CPU lanes share one copy
            self._networks.put(own)
        self._lane = threading.local()
        self._counting = threading.Lock()
        self.seconds, self.pixels = 0.0, 0  # CPU time inside the network, and what it has seen
        self._pool = ThreadPoolExecutor(self.count, "drmamba-lane", initializer=self._enter)
        threads = torch.get_num_threads()
        here = threading.Barrier(self.count)
        for started in [self._pool.submit(here.wait) for _ in range(self.count)]:  # every lane, now
            started.result()
        torch.set_num_threads(threads)  # a lane's one thread is its own affair, not the program's

    def predict(self, *, suppress: float = 1.0, min_contrast: int = 0) -> Predict:
        """Windows to probabilities; those with less than min_contrast are blank without being run."""

        def stream(windows: Iterator[RGB]) -> Iterator[Probability]:
            waiting: deque[Future[list[Probability]]] = deque()
            while batch := list(islice(windows, self.batch)):
                waiting.append(self._pool.submit(self._run, batch, suppress, min_contrast))
                if len(waiting) > self.count + 1:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()

        return stream

    def submit(self, work: Callable[[nn.Module], T]) -> Future[T]:
        """Run anything else with the network, in turn with the windows."""
        return self._pool.submit(lambda: work(self._lane.network))

    def _enter(self) -> None:
        self._lane.network = self._networks.get()
        torch.set_num_threads(1)
        torch.get_num_threads()  # binds the number to this thread; else the first operation takes the program's
        torch.set_flush_denormal(True)  # this thread only: numbers near zero cost a hundred times others

    def _run(self, windows: list[RGB], suppress: float, min_contrast: int) -> list[Probability]:
        results = [np.zeros(window.shape[:2], np.float32) for window in windows]
        seen = [i for i, window in enumerate(windows) if contrast(window) >= min_contrast]
        if not seen:
            return results
        network: nn.Module = self._lane.network
        device = next(network.parameters()).device
        batch = np.zeros((self.batch, *windows[0].shape), np.uint8)
        for place, i in enumerate(seen):
            batch[place] = windows[i]
        started = time.thread_time()
        with torch.inference_mode():
            # (n, h, w, 3) seen as (n, 3, h, w) is channels-last without moving a byte.
            image = torch.from_numpy(batch).to(device).permute(0, 3, 1, 2).float() / 255
            found = network(image, suppress=suppress).logits.float().sigmoid().cpu().numpy()
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


def contrast(window: RGB) -> int:
    """The largest spread of any colour channel, in levels of 255."""
    spread = window.max(axis=0).max(axis=0).astype(np.int16) - window.min(axis=0).min(axis=0)
    return int(spread.max())


def _devices(name: str) -> list[torch.device]:
    """The devices behind a name; `auto` and `cuda` mean every GPU there is."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and torch.cuda.is_available():
        return [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise BackendError(f"the device {name!r} cannot be used here ({reason}); try --device cpu") from error
    return [device]
