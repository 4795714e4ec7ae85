"""The worker pool: results in order, the same bytes whatever runs, no side effects."""

import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from drmamba.config import EngineConfig, WindowConfig, preset
from drmamba.errors import BackendError, CheckpointError
from drmamba.inference.runtime.pool import WorkerPool
from drmamba.inference.tiling import probability
from drmamba.model.network import DRMamba, Output


class Flat(nn.Module):
    """A stand-in network that answers one value everywhere, or the shape of what it got."""

    def __init__(self, value=0.0):
        super().__init__()
        self.value = nn.Parameter(torch.tensor(value))
        self.seen = []

    def forward(self, image, *, suppress=1.0, maps=False):  # noqa: ARG002
        self.seen.append(tuple(image.shape))
        logits = image.mean(1) * 0 + self.value * suppress
        return Output(logits, (logits,), None)


@pytest.fixture(scope="module")
def page():
    return np.random.default_rng(0).integers(0, 256, (150, 210, 3), np.uint8)


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return DRMamba(preset("lite"))


def test_any_number_of_workers_and_any_batch_give_the_same_bytes(page, network):
    config = WindowConfig(window=96, stride=64)
    results = []
    for workers, batch in [(1, 1), (2, 1), (3, 8), (1, 5)]:
        with WorkerPool(network, EngineConfig(device="cpu", workers=workers, batch=batch)) as pool:
            results.append(probability(page, pool.predict(), config).tobytes())
    assert len(set(results)) == 1


def test_the_programs_own_threads_stay_as_they_are():
    before = torch.get_num_threads()
    with WorkerPool(Flat(), EngineConfig(device="cpu", workers=2)) as pool, ThreadPoolExecutor(1) as others:
        assert torch.get_num_threads() == before
        assert others.submit(torch.get_num_threads).result() == before
        seen = [pool.submit(lambda _: torch.rand(9).sum() and torch.get_num_threads()) for _ in range(8)]
        assert {one.result() for one in seen} == {1}


def test_suppress_reaches_the_network(page):
    with WorkerPool(Flat(2.0), EngineConfig(device="cpu", workers=1)) as pool:
        for suppress in (0.0, 1.0, 1.5):
            found = probability(page, pool.predict(suppress=suppress))
            np.testing.assert_allclose(found, torch.tensor(2.0 * suppress).sigmoid().item(), atol=1e-6)


def test_a_window_without_contrast_is_blank_and_not_run():
    stand_in = Flat(5.0)
    with WorkerPool(stand_in, EngineConfig(device="cpu", workers=1)) as pool:
        paper = np.full((40, 40, 3), (250, 240, 200), np.uint8)
        assert probability(paper, pool.predict(min_contrast=8)).max() == 0
        assert stand_in.seen == []
        paper[20, 20] = 0
        assert probability(paper, pool.predict(min_contrast=8)).min() > 0.9


def test_broken_weights_are_reported(page):
    with (
        WorkerPool(Flat(float("nan")), EngineConfig(device="cpu", workers=1)) as pool,
        pytest.raises(CheckpointError, match="not numbers"),
    ):
        probability(page, pool.predict())


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(BackendError, match="nonsense"):
        WorkerPool(Flat(), EngineConfig(device="nonsense"))


def test_a_pool_that_nobody_holds_ends_by_itself():
    before = set(threading.enumerate())
    pool = WorkerPool(Flat(), EngineConfig(device="cpu", workers=2))
    began = set(threading.enumerate()) - before
    assert len(began) == 2
    del pool
    gc.collect()
    deadline = time.monotonic() + 20
    while any(thread.is_alive() for thread in began) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(thread.is_alive() for thread in began)


def test_bfloat16_gives_nearly_the_same_page(page, network):
    with WorkerPool(network, EngineConfig(device="cpu", workers=2)) as pool:
        pool.runtime.precisions = ("float32", "bfloat16")  # also where it is slow
        config = WindowConfig(window=96, stride=64)
        whole = probability(page, pool.predict(), config)
        rough = probability(page, pool.predict(precision="bfloat16"), config)
        assert 0 < np.abs(whole - rough).max() < 0.05
        pool.runtime.precisions = ("float32",)
        with pytest.raises(BackendError, match="bfloat16 cannot be used here"):
            pool.predict(precision="bfloat16")
