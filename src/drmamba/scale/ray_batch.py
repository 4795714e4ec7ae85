"""A batch on a Ray cluster: the same jobs and records as on one machine, with the work done by a pool of actors.

Ray Data streams tasks of a few files each to the actors and gives lost tasks to others. The driver keeps account of
every file; files without records at the end go into another round. Ray is imported in this file only.
"""

from __future__ import annotations

import atexit
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
from drmamba.inference.batch import BatchOptions, tidy
from drmamba.inference.binarizer import Binarizer, UntrainedWarning
from drmamba.inference.jobs import FileJob
from drmamba.inference.memory import page_memory
from drmamba.inference.records import PageRecord
from drmamba.inference.runtime.onnx import OnnxRuntime
from drmamba.scale.stores import FileStore
from drmamba.scale.task_log import TaskLedger, TaskStart
from drmamba.scale.worker import Assignment, PageWorker, from_json

PORT = 6379  # the port of a cluster whose address names none
# Bytes; shared memory of a cluster that is started here, for small rows and records.
OBJECT_STORE_BYTES = 200_000_000


def _ray() -> Any:
    """Return Ray; if it is missing, the error names the extra to install."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage statistics are sent
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # errors are reported here instead
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # libraries warn about each other
            import ray
            import ray.data
    except ImportError as error:
        raise MissingExtra("ray", "ray") from error
    return ray


class RayTaskLog:
    """A handle of the `TaskLedger`, which runs in an actor on the driver's machine."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor

    def start(self, files: list[int]) -> TaskStart:
        """Note that a worker starts a task of these files."""
        start: TaskStart = _ray().get(self.actor.start.remote(files))
        return start

    def start_alone(self, file: int) -> int:
        """Note that a worker starts this file alone; return how often that happened before."""
        return int(_ray().get(self.actor.start_alone.remote(file)))

    def finish(self, file: int, records: str) -> None:
        """Store the records of a finished file, as JSON; they are safe when this returns."""
        _ray().get(self.actor.finish.remote(file, records))


@dataclass(frozen=True)
class ActorFactory:
    """Makes the worker of an actor; what it needs is sent through the object store, once a machine."""

    assignment: Any  # a reference to an Assignment
    ledger: Any  # a handle of the TaskLedger
    worker: type[PageWorker]

    def __call__(self) -> PageWorker:
        """Return the worker, in its process."""
        return self.worker(_ray().get(self.assignment), RayTaskLog(self.ledger))


class RayWorker:
    """What Ray Data makes in each actor, calls with each task, and deletes when the actor ends."""

    def __init__(self, make: ActorFactory) -> None:
        self.worker = make()
        atexit.register(self.worker.close)  # for an actor that ends without deleting this

    def __call__(self, rows: dict[str, Any]) -> dict[str, list[Any]]:
        """Do a task."""
        return self.worker(rows)

    def __del__(self) -> None:
        if hasattr(self, "worker"):
            atexit.unregister(self.worker.close)
            self.worker.close()


class RayBatch:
    """Runs jobs on a cluster like the local `Batch`; close it, or use it in a `with`, to leave the cluster."""

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
        # Too little memory is reported here and not by every worker.
        page_memory(1, config, engine.max_memory)
        _ray()  # a missing library is reported first
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UntrainedWarning)  # the provenance says it
            if engine.runtime == "auto" and engine.device.startswith("cuda"):
                engine = replace(engine, runtime="torch")  # The GPUs may be on other machines than this one.
            one = replace(engine, workers=1, device="cpu")
            with Binarizer.from_pretrained(model, config=config, engine=one) as made:
                self.provenance, sha256 = made.provenance, made.sha256
                exported = isinstance(made.pool.runtime, OnnxRuntime)
        self._ledger: Any = None
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
        """How many actors run, and where."""
        nodes = sum(bool(node["Alive"]) for node in self.ray.nodes())
        kind = "GPU" if self.gpu else "core"
        return f"{self.actors} actors of one {kind} each on {nodes} Ray node{'s' * (nodes > 1)}"

    @property
    def megapixels(self) -> float:
        """What the network has seen; nothing is known about unfinished pages."""
        return 0.0

    @property
    def files_in_progress(self) -> float:
        """The work done on unfinished files, of which nothing is known."""
        return 0.0

    def stop(self) -> None:
        """Finish the tasks under way, then end."""
        self._stop.set()
        if self._ledger is not None:
            self._ledger.stop.remote()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stop.is_set()

    def run(self, jobs: list[FileJob], tick: Callable[[], None] = lambda: None) -> Iterator[PageRecord]:
        """Yield the record of every page as its task is finished; `tick` is called a few times a second meanwhile."""
        if self.tidy:
            tidy(jobs)
        done: queue.SimpleQueue[PageRecord | BaseException | None] = queue.SimpleQueue()
        # A thread of its own lets Ctrl-C reach the caller.
        threading.Thread(target=self._pass_on, args=(jobs, done), name="drmamba-ray", daemon=True).start()
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

    def _pass_on(
        self, jobs: list[FileJob], done: queue.SimpleQueue[PageRecord | BaseException | None]
    ) -> None:
        """Put every record into the queue, and None or the error at the end."""
        try:
            for record in self._rounds(jobs):
                done.put(record)
            done.put(None)
        except BaseException as error:  # raised again in the thread that waits for records
            done.put(error)

    def _rounds(self, jobs: list[FileJob]) -> Iterator[PageRecord]:
        """Run rounds until every file has its records."""
        source = FileStore(self.stores[0]) if self.stores else None
        left, idle = dict(enumerate(jobs)), 0
        self._ledger = self._new_ledger()
        while left and not self.stopped:
            before, trouble = len(left), None
            try:
                for file, text in self._round(left):
                    if left.pop(file, None) is None:
                        continue  # a worker that was taken for dead has answered, too
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
        repeated = self.ray.get(self._ledger.repeated.remote())
        if repeated:
            self.say(f"workers were lost on the way; other workers started {repeated} tasks again")

    def _new_ledger(self) -> Any:
        """Return a ledger on the driver's machine, so that it remains if other nodes are lost."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = self.ray.get_runtime_context().get_node_id()
        stay = NodeAffinitySchedulingStrategy(node_id=here, soft=False)
        return self.ray.remote(TaskLedger).options(num_cpus=0, scheduling_strategy=stay).remote()

    def _round(self, jobs: dict[int, FileJob]) -> Iterator[tuple[int, str]]:
        """Yield (file, its records) in the order in which tasks end."""
        data = self.ray.data
        _quiet(data.DataContext.get_current())
        size = min(self.scale.files, max(1, len(jobs) // (8 * self.actors)))
        rows = [
            {"file": file, "source": str(job.source), "output": str(job.output)} for file, job in jobs.items()
        ]
        actor = ActorFactory(self.ray.put(self.assignment), self._ledger, self.worker)
        memory = self.assignment.engine.max_memory
        results = data.from_items(rows, override_num_blocks=-(-len(rows) // size)).map_batches(
            RayWorker,
            fn_constructor_args=[actor],
            batch_size=None,  # a block is a task
            # A smaller pool also works, so that a cluster that lost a node can finish.
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
                self._ledger.receive.remote(files)

    def close(self) -> None:
        """Leave the cluster; a cluster that was started for this batch ends."""
        self._ledger = None
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
    """Return Ray, connected, and whether this call made the connection."""
    ray = _ray()
    if ray.is_initialized():
        return ray, False
    own = address == "local"
    options: dict[str, Any] = (
        {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES} if own else {}
    )
    if own:
        # Ray's default of 15 is meant for machines that also do other work.
        os.environ.setdefault("RAY_worker_niceness", "0")
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
    """Return how many actors the cluster holds, each with a core, its memory, and a GPU if there are any."""
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
    """Switch off the progress bars and tables of Ray Data."""
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.verbose_stats_logs = False
    for name in ("ray.data", "ray.data._internal"):
        logging.getLogger(name).setLevel(logging.ERROR)


def _reason(error: BaseException | None) -> str:
    """Return one line about what went wrong."""
    if error is None:
        return "their tasks were lost"
    with contextlib.suppress(Exception):
        cause = getattr(error, "cause", None) or error.__cause__
        if cause is not None and str(cause):  # Ray Data raises from an empty exception
            error = cause
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1] if lines else ''}"
