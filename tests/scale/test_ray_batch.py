"""The Ray engine on a cluster of two nodes: the local engine's bytes, whatever is lost on the way."""

import json
import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from drmamba import checkpoint
from drmamba.config import EngineConfig, ScaleConfig
from drmamba.errors import ClusterError, ConfigError, MissingExtra
from drmamba.inference.batch import Batch
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.jobs import plan
from drmamba.scale.ray_batch import RayBatch, _pool, _ray, _reason
from drmamba.scale.worker import PageWorker

pytestmark = [
    # Ray leaves sockets and processes to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
MEMORY = 900_000_000  # bytes an actor may use


@pytest.fixture(scope="module")
def ray():
    try:
        return _ray()
    except MissingExtra as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def cluster(ray):
    """A head and another node, of one core each; `cluster.other` is the node that can go."""
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "memory": 2 * MEMORY, "object_store_memory": 100_000_000}
    # A lost node refuses connections, which is noticed at once; one that answers late may only be on a busy machine.
    health = {
        "health_check_initial_delay_ms": 0,
        "health_check_period_ms": 500,
        "health_check_timeout_ms": 60_000,
        "health_check_failure_threshold": 3,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")  # Ray's own choice, 15, waits for ever beside busy programs.
        made = Cluster(
            initialize_head=True,
            head_node_args={**node, "include_dashboard": False, "_system_config": health},
        )
        made.other = made.add_node(**node)
        ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
        yield made
        ray.shutdown()
        made.shutdown()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The embedded model as a file, which the actors run without importing torch."""
    return Path(shutil.copy(checkpoint.embedded("lite", ".onnx"), tmp_path_factory.mktemp("model")))


@pytest.fixture(scope="module")
def pages(tmp_path_factory, model):
    """Pages in folders, a bad one among them, and what the local engine makes of them."""
    import numpy as np
    from PIL import Image

    root = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    for number in range(10):
        page = np.clip(rng.normal(200, 30, (90 + number, 120, 3)), 0, 255).astype(np.uint8)
        path = root / f"in/{number % 3}/{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(page).save(path, dpi=(300, 300))
    (root / "in/0/bad.jpg").write_bytes(b"\xff\xd8\xff nothing")
    with Binarizer.from_pretrained(model, engine=EngineConfig(device="cpu", workers=2)) as made:
        records = list(Batch(made).run(plan([root / "in"], root / "local")))
    return root, sorted(map(comparable, records))


def comparable(record):
    """A report's line without its clock."""
    values = json.loads(replace(record, seconds=0).line())
    for name in ("output", "error"):
        values[name] = values[name] and Path(values[name]).name
    return json.dumps(values, sort_keys=True)


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def ray_batch(model, **more):
    said = []
    scale = more.pop("scale", ScaleConfig(files=2, tries=2))
    engine = EngineConfig(device="cpu", max_memory=MEMORY)
    made = RayBatch(model, engine=engine, scale=scale, say=said.append, **more)
    made.said = said
    return made


@pytest.mark.usefixtures("cluster")
def test_the_same_bytes_and_lines_and_a_second_run_skips(model, pages, tmp_path):
    root, want = pages
    with ray_batch(model) as batch:
        assert batch.actors == 2
        records = list(batch.run(plan([root / "in"], tmp_path / "out")))
        again = list(batch.run(plan([root / "in"], tmp_path / "out")))
    assert sorted(map(comparable, records)) == want
    assert tree(tmp_path / "out") == tree(root / "local")
    assert sorted(r.status for r in again) == ["failed"] + ["skipped"] * 10
    assert {r.output_sha256 for r in again} == {r.output_sha256 for r in records}


@pytest.mark.usefixtures("cluster")
def test_a_killed_worker_and_a_poison_page_cost_only_the_poison(model, pages, tmp_path):
    root, want = pages
    once, poison = tmp_path / "killed", str(root / "in/1/4.png")

    class Mortal(PageWorker):
        def work(self, jobs):
            for number, found in enumerate(super().work(jobs)):
                yield found
                if number == 0 and not once.exists():  # after one page of a task is written and recorded
                    once.touch()
                    os.kill(os.getpid(), 9)
            if any(str(job.source) == poison for job in jobs.values()):
                os.kill(os.getpid(), 9)

    # The poison dies after its page is done, before anybody hears of it: the worst moment.
    class Poisonous(Mortal):
        def __init__(self, assignment, log):
            super().__init__(assignment, log)
            finish = log.finish
            log.finish = lambda file, records: None if poison in records else finish(file, records)

    with ray_batch(model, worker=Poisonous) as batch:
        records = list(batch.run(plan([root / "in"], tmp_path / "out")))
    assert once.exists()
    (given_up,) = [r for r in records if r.input == poison]
    assert given_up.status == "failed"
    assert given_up.error == f"{poison} ended its worker 2 times, alone each time, and was given up"
    rest = [line for line in want if json.loads(line)["input"] != poison]
    assert sorted(comparable(r) for r in records if r.input != poison) == rest
    assert tree(tmp_path / "out") == tree(root / "local")
    assert any("started" in words and "tasks again" in words for words in batch.said)


@pytest.mark.usefixtures("cluster")
def test_stop_ends_soon_and_the_rest_is_left(model, pages, tmp_path):
    root, _ = pages
    batch = ray_batch(model, scale=ScaleConfig(files=1))
    records = []
    for record in batch.run(plan([root / "in"], tmp_path / "out")):
        records.append(record)
        batch.stop()
    assert 0 < len(records) < 11
    done = {r.output for r in records if r.status == "done"}
    assert {str(p) for p in (tmp_path / "out").rglob("*.png")} >= done


def test_a_lost_node_loses_nothing(cluster, model, pages, tmp_path):
    """The last test on the cluster, which has one node afterwards."""
    root, want = pages
    batch = ray_batch(model, scale=ScaleConfig(files=1))
    records = []
    for record in batch.run(plan([root / "in"], tmp_path / "out")):
        records.append(record)
        if len(records) == 2:  # in a thread: records go on meanwhile
            threading.Thread(target=cluster.remove_node, args=(cluster.other, False), daemon=True).start()
    assert sorted(map(comparable, records)) == want
    assert tree(tmp_path / "out") == tree(root / "local")


def test_what_cannot_work_is_reported_at_once(ray, monkeypatch):
    with pytest.raises(ConfigError, match="--max-memory must be at least"):
        RayBatch("lite", engine=EngineConfig(max_memory=300_000_000))
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setenv("RAY_ADDRESS", "")

    def refuse(*_, **__):
        raise ConnectionError("nobody answers")

    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(ClusterError, match=r"no Ray cluster at nowhere:6379 \(nobody answers\); start one"):
        RayBatch("lite", scale=ScaleConfig(address="nowhere"))


def node(**resources):
    return {"Alive": resources.pop("alive", True), "Resources": resources}


def test_the_pool_follows_the_resources():
    cpu = EngineConfig(device="cpu", max_memory=2_000_000_000)
    auto = replace(cpu, device="auto")
    big, thin = node(CPU=8, memory=64e9), node(CPU=8, memory=5e9)
    assert _pool([big, thin, node(CPU=4, memory=64e9, alive=False)], cpu) == (10, False)
    assert _pool([big], replace(cpu, workers=3)) == (3, False)
    assert _pool([big, node(CPU=8, memory=64e9, GPU=2)], auto) == (2, True)
    assert _pool([node(CPU=8, memory=64e9, GPU=2)], cpu) == (8, False)
    with pytest.raises(ClusterError, match="no node of the Ray cluster has a core"):
        _pool([node(CPU=0, memory=64e9)], cpu)
    with pytest.raises(ClusterError, match="has a GPU; leave out --device cuda"):
        _pool([big], replace(cpu, device="cuda"))


def test_the_reason_of_a_failure_is_never_empty():
    error = RuntimeError("an actor died\nwithout memory")
    error.__cause__ = Exception()
    assert _reason(error) == "RuntimeError: without memory"
    error.__cause__ = ValueError("the cause")
    assert _reason(error) == "ValueError: the cause"
