"""Data-parallel training on a CPU: each of several threads computes the gradient of its share of every batch.

Threads inside an operation wait for each other thousands of times per update, and wait long when other programs run.
Here each thread makes its own crops and runs its own forward and backward pass; the threads meet once, when their
gradients are added. Weights are shared. Batch norms take their statistics from a thread's share of the batch, and the
running statistics are the mean over the threads.

`torch.nn.DataParallel` runs on GPUs only, and `DistributedDataParallel` needs one process and one copy of the data per
share.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import torch
from torch import Tensor, nn

from drmamba.training.batch_loader import PendingBatch
from drmamba.training.learner import Batch

Losses = Callable[[nn.Module, Batch], tuple[Tensor, dict[str, Tensor]]]

LEAST_CROPS = 2  # per thread; the batch-norm statistics of fewer are too inaccurate


def thread_count(batch: int, threads: int) -> int:
    """The largest number of threads that can share a batch evenly.

    >>> thread_count(8, 2), thread_count(8, 3), thread_count(8, 64), thread_count(3, 2)
    (2, 2, 4, 1)
    """
    return max(n for n in range(1, threads + 1) if batch % n == 0 and (n == 1 or batch // n >= LEAST_CROPS))


class DataParallelTrainer:
    """Threads with replicas of one network, which share its parameters and have their own batch-norm statistics."""

    def __init__(self, network: nn.Module, losses: Losses, count: int) -> None:
        self.losses, self.count = losses, count
        shared = {id(parameter): parameter for parameter in network.parameters()}
        self.networks = [network, *(deepcopy(network, dict(shared)) for _ in range(count - 1))]
        self.parameters = list(network.parameters())
        threads = torch.get_num_threads()
        self._pool = ThreadPoolExecutor(
            count, "drmamba-train", initializer=_set_up_thread, initargs=(max(1, threads // count),)
        )
        # All threads must have started before the program's own number of threads is restored: one that starts later
        # would change it again, and with it the rounding of every sum.
        together = threading.Barrier(count)
        list(self._pool.map(lambda _: together.wait(), range(count)))
        torch.set_num_threads(threads)

    def accumulate_gradients(self, batch: Batch | PendingBatch, weight: float) -> dict[str, Tensor]:
        """Add the weighted gradient of a batch to the parameters' gradients; returns the mean of every loss."""
        self._copy_statistics()
        shares = [self._pool.submit(self._share, batch, number, weight) for number in range(self.count)]
        found = [share.result() for share in shares]
        with torch.no_grad():
            for number, parameter in enumerate(self.parameters):
                # Gradients are always added in the same order, so that every run gives the same bits.
                for _, gradients in found:
                    gradient = gradients[number]
                    if gradient is not None:
                        parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)
            self._average_statistics()
        return {name: torch.stack([parts[name] for parts, _ in found]).mean() for name in found[0][0]}

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown()

    def _share(
        self, batch: Batch | PendingBatch, number: int, weight: float
    ) -> tuple[dict[str, Tensor], tuple[Tensor | None, ...]]:
        own = (
            batch.make(number, self.count)
            if isinstance(batch, PendingBatch)
            else _slice(batch, number, self.count)
        )
        network = self.networks[number].train()
        loss, parts = self.losses(network, own)
        gradients = torch.autograd.grad(loss * (weight / self.count), self.parameters, allow_unused=True)
        return {"loss": loss.detach(), **parts}, gradients

    def _copy_statistics(self) -> None:
        for replica in self.networks[1:]:
            for own, first in zip(replica.buffers(), self.networks[0].buffers(), strict=True):
                own.copy_(first)

    def _average_statistics(self) -> None:
        for buffers in zip(*(network.buffers() for network in self.networks), strict=True):
            if buffers[0].is_floating_point():
                buffers[0].copy_(torch.stack(buffers).mean(0))


def _set_up_thread(threads: int) -> None:
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)


def _slice(batch: Batch, number: int, count: int) -> Batch:
    size = len(batch["image"]) // count
    return {name: value[number * size : (number + 1) * size] for name, value in batch.items()}
