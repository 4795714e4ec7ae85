"""Batches by number."""

from collections.abc import Iterator

import pytest
import torch
from numbered_items import Numbers

from drmamba.training.batch_loader import BatchLoader, collate, indices


def heads(numbers: Iterator[list[int]], count: int) -> list[list[int]]:
    return [next(numbers) for _ in range(count)]


@pytest.mark.parametrize("devices", [1, 2, 3])
def test_devices_together_see_one_large_batch(devices: int) -> None:
    whole = heads(indices(5, batch=6 * devices), 3)
    shares = [heads(indices(5, batch=6, rank=rank, devices=devices), 3) for rank in range(devices)]
    for number in range(3):
        assert [i for share in shares for i in share[number]] == whole[number]


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine with one core
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_starts_anywhere(workers: int) -> None:
    loader = BatchLoader(Numbers(), start=7, batch=3, workers=workers)
    batches = list(loader.take(4))
    loader.close()
    assert torch.cat([b["image"] for b in batches]).tolist() == [float(i) for i in range(21, 33)]


def test_a_broken_page_stops_the_training_thread() -> None:
    loader = BatchLoader(Numbers(broken=4), start=0, batch=2)
    taken = loader.take(3)
    assert next(taken)["image"].tolist() == [0.0, 1.0]
    assert next(taken)["image"].tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="this page is broken"):
        next(taken)


def test_collate_stacks() -> None:
    assert collate(Numbers(), [3, 1])["image"].tolist() == [3.0, 1.0]
