"""The Ray engine beside the local one: the same pages, two one-core actors against two workers, in one run.

    python benchmarks/cluster.py                       # the examples, four times each
    python benchmarks/cluster.py --pages FOLDER --actors 2 --rounds 3

It prints JSON. Both engines run in turn, `rounds` times, and their best rounds are compared, because other programs
can only slow a round down. `seconds` is the time from the first moment at which a page could be started (the model is
loaded) to the last page written. `start_up` is the time before that: imports and the model, on Ray also its processes,
and in the first round the whole cluster. `cpu` is the processor time of everything that works on pages, including the
decoders. Outputs are compared byte by byte.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def local(pages: Path, out: Path, model: str, workers: int) -> dict[str, Any]:
    """Binarize the pages with the local engine."""
    started = time.perf_counter()
    from drmamba.config import EngineConfig
    from drmamba.inference.batch import Batch
    from drmamba.inference.binarizer import Binarizer
    from drmamba.inference.jobs import plan

    jobs = plan([pages], out)
    with Binarizer.from_pretrained(model, engine=EngineConfig(device="cpu", workers=workers)) as made:
        ready, cpu = time.perf_counter(), cpu_seconds()
        records = list(Batch(made).run(jobs))
        ended = time.perf_counter()
    return figures(records, ready - started, ended - ready, cpu_seconds() - cpu)


def cpu_seconds() -> float:
    """The processor seconds of this process and of its finished children."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(t.ru_utime + t.ru_stime for t in times)


def on_ray(pages: Path, out: Path, model: str, count: int, *, first: float | None) -> dict[str, Any]:
    """The Ray engine; `first` is when the cluster was asked for, if this round started it."""
    started = time.perf_counter() if first is None else first
    from drmamba.config import EngineConfig
    from drmamba.inference.jobs import plan
    from drmamba.scale.ray_batch import RayBatch
    from drmamba.scale.worker import PageWorker

    clock = out.with_suffix(".clock")
    clock.mkdir()

    class Timed(PageWorker):
        """Records when it is ready and how long it works; all processes of a machine share one clock."""

        def __init__(self, assignment: Any, log: Any) -> None:
            super().__init__(assignment, log)
            self.ready, self.busy = time.perf_counter(), 0.0
            self.cpu = time.process_time()

        def __call__(self, rows: dict[str, Any]) -> dict[str, list[Any]]:
            began = time.perf_counter()
            found = super().__call__(rows)
            self.busy += time.perf_counter() - began
            values = [self.ready, self.busy, time.process_time() - self.cpu + decoders()]
            (clock / str(os.getpid())).write_text(json.dumps(values))
            return found

    def decoders() -> float:
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            if int(fields[1]) == os.getpid():
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    jobs = plan([pages], out)
    engine = EngineConfig(device="cpu", workers=count)
    batch = RayBatch(model, engine=engine, worker=Timed)
    assert batch.actors == count, f"the cluster holds {batch.actors} actors only"
    records = list(batch.run(jobs))
    ended = time.perf_counter()
    actors = sorted(json.loads(path.read_text()) for path in clock.iterdir())
    ready = actors[0][0]
    found = figures(records, ready - started, ended - ready, sum(cpu for _, _, cpu in actors))
    busy = [round(busy, 2) for _, busy, _ in actors]
    return found | {"second_actor_later_by": round(actors[-1][0] - ready, 2), "actors_busy": busy}


def figures(records: list[Any], start_up: float, seconds: float, cpu: float) -> dict[str, Any]:
    """The figures of one round; a failed page ends the program."""
    failed = [record.error for record in records if record.status != "done"]
    if failed:
        sys.exit("\n".join(map(str, failed)))
    return {
        "megapixels": round(sum(record.megapixels for record in records), 2),
        "start_up": round(start_up, 2),
        "seconds": round(seconds, 2),
        "cpu": round(cpu, 2),
    }


def best(rounds: list[dict[str, Any]]) -> float:
    """The megapixels per second of the best round."""
    return float(max(one["megapixels"] / one["seconds"] for one in rounds))


def tree(folder: Path) -> dict[str, bytes]:
    """The names and bytes of the files in a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=Path, default=Path(__file__).parents[1] / "examples")
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--model", default="lite")
    args = parser.parse_args()
    runs: dict[str, list[dict[str, Any]]] = {"local": [], "ray": []}
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        for number in range(args.copies):
            for page in sorted(args.pages.glob("*.jpg")):
                copy = root / f"in/{number}/{page.name}"
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(page, copy)
        same, leave = True, None
        for number in range(args.rounds):
            here, there = root / f"local{number}", root / f"ray{number}"
            runs["local"].append(local(root / "in", here, args.model, args.actors))
            first = None
            if leave is None:
                first = time.perf_counter()
                from drmamba.scale.ray_batch import connect

                ray, _ = connect("local")
                leave = ray.shutdown
            runs["ray"].append(on_ray(root / "in", there, args.model, args.actors, first=first))
            same = same and tree(here) == tree(there)
        if leave is not None:
            leave()
    first_rounds = {name: rounds[0] for name, rounds in runs.items()}
    whole = {
        name: one["megapixels"] / (one["start_up"] + min(r["seconds"] for r in runs[name]))
        for name, one in first_rounds.items()
    }
    result = runs | {
        "ray_to_local": round(best(runs["ray"]) / best(runs["local"]), 3),
        "ray_to_local_with_first_start_up": round(whole["ray"] / whole["local"], 3),
        "cpu_ray_to_local": round(
            min(one["cpu"] for one in runs["ray"]) / min(one["cpu"] for one in runs["local"]), 3
        ),
        "identical": same,
    }
    print(json.dumps(result, indent=2))
    if not same:
        sys.exit("the outputs differ")


if __name__ == "__main__":
    main()
