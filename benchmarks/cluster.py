"""The Ray engine beside the local one: the same pages, two one-core actors against two workers, in one run.

    python benchmarks/cluster.py                       # the examples, four times each
    python benchmarks/cluster.py --pages FOLDER --actors 2

Prints JSON. `seconds` is from the first page that can be begun (model loaded) to the last that is written;
`start_up` is what comes before: imports and the model here, and on Ray also the cluster and its actors. The local
engine runs before and after Ray, and the mean counts. Outputs are compared byte by byte.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def local(pages: Path, out: Path, model: str, workers: int) -> dict[str, Any]:
    """The local engine."""
    started = time.perf_counter()
    from drmamba.config import EngineConfig
    from drmamba.inference.batch import Batch
    from drmamba.inference.binarizer import Binarizer
    from drmamba.inference.jobs import plan

    jobs = plan([pages], out)
    with Binarizer.from_pretrained(model, engine=EngineConfig(device="cpu", workers=workers)) as made:
        ready = time.perf_counter()
        records = list(Batch(made).run(jobs))
        ended = time.perf_counter()
    return figures(records, ready - started, ended - ready)


def on_ray(pages: Path, out: Path, model: str, actors: int) -> dict[str, Any]:
    """The Ray engine, on a cluster of its own on this machine."""
    started = time.perf_counter()
    from drmamba.config import EngineConfig, ScaleConfig
    from drmamba.inference.jobs import plan
    from drmamba.scale.ray_batch import RayBatch
    from drmamba.scale.worker import PageWorker

    clock = out.with_suffix(".clock")
    clock.mkdir()

    class Timed(PageWorker):
        """Tells when it is ready."""

        def __init__(self, assignment: Any, notebook: Any) -> None:
            super().__init__(assignment, notebook)
            (clock / str(time.perf_counter())).touch()  # one clock for all processes of a machine

    jobs = plan([pages], out)
    engine = EngineConfig(device="cpu", workers=actors)
    with RayBatch(model, engine=engine, scale=ScaleConfig(address="local"), worker=Timed) as batch:
        assert batch.actors == actors, f"there is room for {batch.actors} actors only"
        connected = time.perf_counter()
        records = list(batch.run(jobs))
        ended = time.perf_counter()
    ready = sorted(float(path.name) for path in clock.iterdir())
    found = figures(records, ready[0] - started, ended - ready[0])
    return found | {
        "cluster_seconds": round(connected - started, 2),
        "actors_ready_after": [round(moment - started, 2) for moment in ready],
        "seconds_from_last_actor": round(ended - ready[-1], 2),
    }


def figures(records: list[Any], start_up: float, seconds: float) -> dict[str, Any]:
    """What counts."""
    failed = [record.error for record in records if record.status != "done"]
    if failed:
        sys.exit("\n".join(map(str, failed)))
    megapixels = sum(record.megapixels for record in records)
    return {
        "pages": len(records),
        "megapixels": round(megapixels, 2),
        "start_up": round(start_up, 2),
        "seconds": round(seconds, 2),
        "megapixels_per_second": round(megapixels / seconds, 3),
        "with_start_up": round(megapixels / (seconds + start_up), 3),
    }


def tree(folder: Path) -> dict[str, bytes]:
    """Names and bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    examples = Path(__file__).parents[1] / "examples"
    parser.add_argument("--pages", type=Path, default=examples)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--model", default="lite")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        for number in range(args.copies):
            for page in sorted(args.pages.glob("*.jpg")):
                copy = root / f"in/{number}/{page.name}"
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(page, copy)
        before = local(root / "in", root / "before", args.model, args.actors)
        ray = on_ray(root / "in", root / "ray", args.model, args.actors)
        after = local(root / "in", root / "after", args.model, args.actors)
        same = tree(root / "before") == tree(root / "ray") == tree(root / "after")
    mean = (before["megapixels_per_second"] + after["megapixels_per_second"]) / 2
    result = {
        "local": [before, after],
        "ray": ray,
        "ray_to_local": round(ray["megapixels_per_second"] / mean, 3),
        "ray_to_local_with_start_up": round(ray["with_start_up"] / before["with_start_up"], 3),
        "identical": same,
    }
    print(json.dumps(result, indent=2))
    if not same:
        sys.exit("the outputs differ")


if __name__ == "__main__":
    main()
