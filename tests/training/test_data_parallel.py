"""Threads that share a batch: same loss, same gradient, same statistics as their definition says."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from drmamba.training.batch_loader import PendingBatch
from drmamba.training.data_parallel import DataParallelTrainer, thread_count
from drmamba.training.learner import Batch


class Smooth(nn.Module):
    """A layer without batch statistics, one with, and a parameter that nothing uses."""

    def __init__(self, norm: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(3, 2)
        self.norm = nn.BatchNorm1d(2) if norm else nn.Identity()
        self.unused = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.layer(x))


def losses(network: nn.Module, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    error = (network(batch["image"]) - batch["ink"]).pow(2).mean()
    return error, {"error": error.detach()}


def batch(size: int = 8) -> Batch:
    torch.manual_seed(1)
    return {"image": torch.randn(size, 3), "ink": torch.randn(size, 2)}


@pytest.mark.parametrize("count", [1, 2, 4])
def test_threads_find_the_gradient_of_the_whole_batch(count: int) -> None:
    network, alone = Smooth(norm=False), Smooth(norm=False)
    trainer = DataParallelTrainer(network, losses, count)
    found = trainer.accumulate_gradients(batch(), 0.5)
    found = trainer.accumulate_gradients(batch(), 0.5)  # adds up, as accumulation needs
    trainer.close()
    loss, _ = losses(alone, batch())
    loss.backward()
    torch.testing.assert_close(found["loss"], loss.detach())
    torch.testing.assert_close(network.layer.weight.grad, alone.layer.weight.grad)
    assert network.unused.grad is None


def test_running_statistics_are_the_mean_over_threads() -> None:
    network = Smooth(norm=True)
    trainer = DataParallelTrainer(network, losses, 2)
    for _ in range(2):
        before = network.norm.running_mean.clone()
        trainer.accumulate_gradients(batch(), 1.0)
        halves = [network.layer(half).mean(0) for half in batch()["image"].chunk(2)]
        want = 0.9 * before + 0.1 * torch.stack(halves).mean(0)
        torch.testing.assert_close(network.norm.running_mean, want.detach())
    assert network.norm.num_batches_tracked == 2
    assert trainer.networks[1].layer.weight is network.layer.weight
    trainer.close()


class Numbers(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"image": torch.full((3,), float(index)), "ink": torch.zeros(2)}


def test_each_thread_makes_its_share_of_a_pending_batch() -> None:
    seen: dict[int, list[float]] = {}

    def note(network: nn.Module, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        seen[id(network)] = batch["image"][:, 0].tolist()
        return losses(network, batch)

    trainer = DataParallelTrainer(Smooth(norm=False), note, 2)
    trainer.accumulate_gradients(PendingBatch(Numbers(), [4, 5, 6, 7]), 1.0)
    trainer.close()
    assert [seen[id(network)] for network in trainer.networks] == [[4.0, 5.0], [6.0, 7.0]]


def test_an_error_in_a_thread_is_raised() -> None:
    def broken(*_: object) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        raise RuntimeError("this page is broken")

    trainer = DataParallelTrainer(Smooth(norm=False), broken, 2)
    with pytest.raises(RuntimeError, match="this page is broken"):
        trainer.accumulate_gradients(batch(), 1.0)
    trainer.close()


@pytest.mark.parametrize("check", [lambda: thread_count(4, 2) == 2, lambda: thread_count(2, 8) == 1])
def test_threads_get_at_least_two_crops(check: Callable[[], bool]) -> None:
    assert check()
