"""Batches by number: the crops of an update depend only on its step, on any number of devices.

Worker processes are torch's `DataLoader`; without them one thread makes batches ahead, which `DataLoader` does not do.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, default_collate

from drmamba.training.learner import Batch

Crops = Dataset[dict[str, Tensor]]


def indices(start: int, batch: int, rank: int = 0, devices: int = 1) -> Iterator[list[int]]:
    """The crop numbers of batch `start` and all later ones, for one of several devices.

    Together the devices see the crops that one device with the sum of their batches would see.

    >>> one = indices(3, batch=4)
    >>> two = [indices(3, batch=2, rank=r, devices=2) for r in range(2)]
    >>> next(one), [next(two[0]), next(two[1])]
    ([12, 13, 14, 15], [[12, 13], [14, 15]])
    """
    for number in count(start):
        first = (number * devices + rank) * batch
        yield list(range(first, first + batch))


@dataclass(frozen=True)
class PendingBatch:
    """A batch that has not been made yet; each training thread makes its own share of it."""

    crops: Crops
    chosen: Sequence[int]

    def make(self, share: int = 0, shares: int = 1) -> Batch:
        """One of several equal shares of the batch."""
        size = len(self.chosen) // shares
        return collate(self.crops, self.chosen[share * size : (share + 1) * size])


class _BatchSampler:
    """An endless batch sampler that starts at any batch."""

    def __init__(self, start: int, batch: int, rank: int, devices: int) -> None:
        self.arguments = start, batch, rank, devices

    def __iter__(self) -> Iterator[list[int]]:
        return indices(*self.arguments)


class BatchLoader:
    """Batches from number `start` on, made ahead by `workers` processes, or by one thread if that is 0.

    A lazy loader without workers makes no batches ahead, but returns pending ones.
    """

    def __init__(
        self,
        crops: Crops,
        start: int,
        batch: int,
        *,
        workers: int = 0,
        rank: int = 0,
        devices: int = 1,
        lazy: bool = False,
    ) -> None:
        self._stop = threading.Event()
        self._batches: Iterator[Batch | PendingBatch]
        if workers:
            self._batches = _processes(crops, _BatchSampler(start, batch, rank, devices), workers)
        elif lazy:
            self._batches = (PendingBatch(crops, chosen) for chosen in indices(start, batch, rank, devices))
        else:
            self._batches = self._thread(crops, indices(start, batch, rank, devices))

    def take(self, number: int) -> Iterator[Batch | PendingBatch]:
        """The next batches, one by one."""
        for _ in range(number):
            yield next(self._batches)

    def close(self) -> None:
        """Stop making batches."""
        self._stop.set()

    def _thread(self, crops: Crops, numbers: Iterator[list[int]]) -> Iterator[Batch]:
        ready: queue.Queue[Batch | BaseException] = queue.Queue(maxsize=2)

        def work() -> None:
            for chosen in numbers:
                made: Batch | BaseException
                try:
                    made = collate(crops, chosen)
                except Exception as error:  # passed to the training thread, which raises it
                    made = error
                while not self._stop.is_set():
                    try:
                        ready.put(made, timeout=0.2)
                        break
                    except queue.Full:
                        continue
                if self._stop.is_set() or isinstance(made, BaseException):
                    return

        threading.Thread(target=work, name="drmamba-batches", daemon=True).start()
        while True:
            made = ready.get()
            if isinstance(made, BaseException):
                raise made
            yield made


def collate(crops: Crops, chosen: Sequence[int]) -> Batch:
    """The chosen crops, stacked into one batch."""
    batch: Batch = default_collate([crops[i] for i in chosen])
    return batch


def _processes(crops: Crops, sampler: _BatchSampler, workers: int) -> Iterator[Batch]:
    loader = DataLoader(
        crops,
        batch_sampler=sampler,  # torch accepts any iterable of lists
        num_workers=workers,
        prefetch_factor=4,
        pin_memory=torch.cuda.is_available(),
        multiprocessing_context="forkserver"
        if "forkserver" in torch.multiprocessing.get_all_start_methods()
        else None,
    )
    yield from loader
