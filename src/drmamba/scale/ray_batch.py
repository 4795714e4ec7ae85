"""A batch on a Ray cluster: the local engine's jobs and records, its work done by a pool of model actors.

Ray Data streams tasks of a few files each to the actors and gives lost tasks to others. The driver keeps
account of every file: what no task has answered for at the end goes into another round. Ray is imported in
this file only.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from drmamba.config import DEFAULT_MODEL, PRESETS, EngineConfig, InferenceConfig, ScaleConfig
from drmamba.errors import ClusterError, MissingExtra
from drmamba.inference.batch import BatchOptions, page_memory, tidy
from drmamba.inference.binarizer import Binarizer, UntrainedWarning
from drmamba.inference.jobs import Job
from drmamba.inference.onnx_runtime import OnnxRuntime
from drmamba.inference.records import PageRecord
from drmamba.scale.stores import Store
from drmamba.scale.tries import Begun, Tries
from drmamba.scale.worker import Assignment, PageWorker, from_json

PORT = 6379  # of a cluster whose address names none
STORE = 200_000_000  # bytes of shared memory in a cluster of our own: rows and records are small


def _ray() -> Any:
    """Ray itself, or the name of the extra that brings it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing here calls home
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # what goes wrong is told here, in our words
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of libraries about each other
            import ray
            import ray.data
    except ImportError as error:
        raise MissingExtra("ray", "ray") from error
    return ray


class RayNotebook:
    """The workers' end of `Tries`, which lives in an actor beside the driver."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor

    def begin(self, files: list[int]) -> Begun:
        """A worker starts on these files."""
        begun: Begun = _ray().get(self.actor.begin.remote(files))
        return begun

    def begin_alone(self, file: int) -> int:
        """A worker starts on this file alone; how often that happened before."""
        return int(_ray().get(self.actor.begin_alone.remote(file)))

    def finish(self, file: int, records: str) -> None:
        """A file is done: its records, as JSON. Waits, so that they are safe when the next file is begun."""
        _ray().get(self.actor.finish.remote(file, records))


@dataclass(frozen=True)
class Actor:
    """How an actor is made on the cluster; what it needs comes through the object store, once a machine."""

    assignment: Any  # a reference to an Assignment
    notebook: Any  # a handle of Tries
    worker: type[PageWorker]

    def __call__(self) -> PageWorker:
        """The worker, in its process."""
        return self.worker(_ray().get(self.assignment), RayNotebook(self.notebook))


class RayWorker:
    """What Ray Data calls."""

    def __init__(self, actor: Actor) -> None:
        self.work = actor()

    def __call__(self, rows: dict[str, Any]) -> dict[str, list[Any]]:
        """A task."""
        return self.work(rows)


class RayBatch:
    """Runs jobs on a cluster; used like the local `Batch`. Close it, or use it in a `with`, to leave the cluster."""

    def __init__(
        self,
        model: str | Path = DEFAULT_MODEL,
        *,
        config: InferenceConfig | None = None,
        engine: EngineConfig | None = None,
        options: BatchOptions | None = None,
        scale: ScaleConfig | None = None,
        stores: tuple[str, str] | None = None,
        worker: type[PageWorker] = PageWorker,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.scale, self.say, self.worker, self.stores = scale or ScaleConfig(), say, worker, stores
        engine, config, options = (
            engine or EngineConfig(),
            config or InferenceConfig(),
            options or BatchOptions(),
        )
        page_memory(1, config, engine.max_memory)  # too little is told here, not by every worker
        _ray()  # if it is missing, that is told first
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UntrainedWarning)  # whoever asks sees it in the provenance
            one = replace(engine, workers=1, device="cpu")
            with Binarizer.from_pretrained(model, config=config, engine=one) as made:
                self.provenance, sha256 = made.provenance, made.sha256
                exported = isinstance(made.lanes.runtime, OnnxRuntime)
        self._tries: Any = None
        self.ray, self._ours = connect(self.scale.address)
        try:
            self.actors, self.gpu = _pool(
                self.ray.nodes(), replace(engine, device="cpu") if exported else engine
            )
        except ClusterError:
            self.close()
            raise
        file = None if str(model) in PRESETS else Path(model)
        self.assignment = Assignment(
            model=str(model),
            model_file=file.read_bytes() if file and file.is_file() else None,
            model_sha256=sha256,
            config=config,
            engine=replace(engine, workers=1, device="cuda" if self.gpu else "cpu"),
            options=replace(options, tidy=False),
            folder=str(Path.cwd()),
            stores=stores,
            tries=self.scale.tries,
        )
        self.tidy = options.tidy and stores is None
        self._stop = threading.Event()

    @property
    def place(self) -> str:
        """What runs, and where."""
        nodes = sum(bool(node["Alive"]) for node in self.ray.nodes())
        kind = "GPU" if self.gpu else "core"
        return f"{self.actors} actors of one {kind} each on {nodes} Ray node{'s' * (nodes > 1)}"

    @property
    def megapixels(self) -> float:
        """Of unfinished pages nothing is known."""
        return 0.0

    def stop(self) -> None:
        """Finish the tasks in hand, then end."""
        self._stop.set()
        if self._tries is not None:
            self._tries.stop.remote()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stop.is_set()

    def run(self, jobs: list[Job], tick: Callable[[], None] = lambda: None) -> Iterator[PageRecord]:
        """Every page's record as its task is finished; `tick` is called a few times a second meanwhile."""
        if self.tidy:
            tidy(jobs)
        done: queue.SimpleQueue[PageRecord | BaseException | None] = queue.SimpleQueue()
        # A thread of its own: Ctrl-C must get through to whoever called.
        threading.Thread(target=self._feed, args=(jobs, done), name="drmamba-ray", daemon=True).start()
        while True:
            try:
                found = done.get(timeout=0.2)
            except queue.Empty:
                tick()
                continue
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            yield found

    def _feed(self, jobs: list[Job], done: queue.SimpleQueue[PageRecord | BaseException | None]) -> None:
        try:
            for record in self._rounds(jobs):
                done.put(record)
            done.put(None)
        except BaseException as error:  # raised again by whoever waits for records
            done.put(error)

    def _rounds(self, jobs: list[Job]) -> Iterator[PageRecord]:
        """Until every file has its records."""
        source = Store(self.stores[0]) if self.stores else None
        left, idle = dict(enumerate(jobs)), 0
        self._tries = self._notebook()
        while left and not self.stopped:
            before, trouble = len(left), None
            try:
                for file, text in self._round(left):
                    if left.pop(file, None) is None:
                        continue  # answered twice: by a worker taken for dead, and by the next
                    for record in from_json(text):
                        yield replace(record, input=source.name(record.input)) if source else record
            except self.ray.exceptions.RayError as error:
                trouble = error
            if self.stopped or not left:
                break
            idle = 0 if len(left) < before else idle + 1
            reason = _reason(trouble)
            if idle == self.scale.rounds:
                raise ClusterError(f"the cluster does not finish {len(left)} files: {reason}") from trouble
            self.say(f"{len(left)} files are left and go into another round ({reason})")
        repeated = self.ray.get(self._tries.repeated.remote())
        if repeated:
            self.say(f"workers were lost on the way; {repeated} tasks were begun again by others")

    def _notebook(self) -> Any:
        """Beside the driver: it lives as long as the run does, whatever happens to other nodes."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = self.ray.get_runtime_context().get_node_id()
        stay = NodeAffinitySchedulingStrategy(node_id=here, soft=False)
        return self.ray.remote(Tries).options(num_cpus=0, scheduling_strategy=stay).remote()

    def _round(self, jobs: dict[int, Job]) -> Iterator[tuple[int, str]]:
        """(file, its records), in the order in which tasks end."""
        data = self.ray.data
        _quiet(data.DataContext.get_current())
        size = min(self.scale.files, max(1, len(jobs) // (8 * self.actors)))
        rows = [
            {"file": file, "source": str(job.source), "output": str(job.output)} for file, job in jobs.items()
        ]
        actor = Actor(self.ray.put(self.assignment), self._tries, self.worker)
        memory = self.assignment.engine.max_memory
        results = data.from_items(rows, override_num_blocks=-(-len(rows) // size)).map_batches(
            RayWorker,
            fn_constructor_args=[actor],
            batch_size=None,  # a block is a task
            # A smaller pool still works, so that one that lost a node ends what it has begun.
            compute=data.ActorPoolStrategy(
                min_size=1,
                max_size=self.actors,
                initial_size=min(self.actors, len(rows)),
                max_tasks_in_flight_per_actor=2,
            ),
            num_cpus=1,
            memory=memory,
            **({"num_gpus": 1} if self.gpu else {}),
        )
        del rows
        for batch in results.iter_batches(batch_size=None, prefetch_batches=0):
            files = [int(file) for file in batch["file"]]
            if files:
                yield from zip(files, batch["records"], strict=True)
                self._tries.receive.remote(files)

    def close(self) -> None:
        """Leave the cluster; one that was started for this batch ends."""
        self._tries = None
        if self._ours:
            self._ours = False
            self.ray.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def connect(address: str) -> tuple[Any, bool]:
    """Ray, connected, and whether the connection is ours to end."""
    ray = _ray()
    if ray.is_initialized():
        return ray, False
    own = address == "local"
    options: dict[str, Any] = {"include_dashboard": False, "object_store_memory": STORE} if own else {}
    if own:
        os.environ.setdefault(
            "RAY_worker_niceness", "0"
        )  # Ray's 15 is for machines that do something else too
    if not own and address != "auto" and ":" not in address:
        address = f"{address}:{PORT}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(address, logging_level=logging.ERROR, log_to_driver=False, **options)
    except Exception as error:  # Ray raises many kinds, and bare ones
        words = str(error).splitlines()[0] if str(error) else type(error).__name__
        if own:
            raise ClusterError(f"Ray does not start on this machine: {words}") from error
        where = "here" if address == "auto" else f"at {address}"
        remedy = "start one with `ray start --head`, or give --address local"
        raise ClusterError(f"there is no Ray cluster {where} ({words}); {remedy}") from error
    return ray, True


def _pool(nodes: list[dict[str, Any]], engine: EngineConfig) -> tuple[int, bool]:
    """How many actors the cluster holds, each with a core, its memory, and a GPU if there are any."""
    alive = [node["Resources"] for node in nodes if node["Alive"]]
    gpu = engine.device != "cpu" and any(node.get("GPU", 0) >= 1 for node in alive)
    if not gpu and engine.device not in ("auto", "cpu"):
        raise ClusterError(f"no node of the Ray cluster has a GPU; leave out --device {engine.device}")
    slots = sum(
        int(
            min(
                node.get("CPU", 0),
                node.get("memory", 0) // engine.max_memory,
                node.get("GPU", 0) if gpu else 1e9,
            )
        )
        for node in alive
    )
    if engine.workers:
        slots = min(slots, engine.workers)
    if slots < 1:
        needs = f"a core{' and a GPU' * gpu} and {engine.max_memory / 1e9:.1f} GB (--max-memory)"
        raise ClusterError(f"no node of the Ray cluster has {needs} for a worker")
    return slots, gpu


def _quiet(context: Any) -> None:
    """No bars and tables of Ray's own between ours."""
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.verbose_stats_logs = False
    for name in ("ray.data", "ray.data._internal"):
        logging.getLogger(name).setLevel(logging.ERROR)


def _reason(error: BaseException | None) -> str:
    """One line about what went wrong."""
    if error is None:
        return "their tasks were lost"
    with contextlib.suppress(Exception):
        cause = getattr(error, "cause", None) or error.__cause__
        if cause is not None and str(cause):  # Ray Data puts an empty one before its own
            error = cause
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"
