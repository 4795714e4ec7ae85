"""End-to-end speed of `drmamba binarize`, and the share of it that is the network.

    python benchmarks/speed.py                          # four A4 pages at 300 dpi, made here
    python benchmarks/speed.py --pages FOLDER           # your own
    python benchmarks/speed.py --compare REVISION       # this code and an older revision, taking turns, one table
    python benchmarks/speed.py --small --compare REVISION    # 40 pages of 0.2 megapixels with two-pixel strokes

Times are those of the batch, in which files are read, decoded, binarized and written. Starting Python and the runtime
is not part of them and has a column of its own. Wall time depends on other programs; CPU time divided by the cores
hardly does. The same run also measures the network alone on the same pixels without overlap; the ratio to that is the
cost of reading, overlap, blending and writing.

A comparison unpacks the other revision into a temporary folder and runs that revision's own copy of this file on the
same pages, because names inside the package have changed since the first release. Every turn is a process of its own.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

A4 = (3508, 2480)  # pixels at 300 dpi
SMALL = (500, 400)  # pixels
COLUMNS = {
    "cpu_seconds_per_megapixel_and_core": "cpu s/MP/core",
    "seconds_per_megapixel": "wall s/MP",
    "pixels_seen_per_pixel": "seen",
    "share_in_network": "in network",
    "start_up_seconds": "start-up s",
}


def make_pages(folder: Path, count: int, size: tuple[int, int] = A4) -> None:
    """A4 pages at 300 dpi: noisy, shaded paper and rows of strokes."""
    folder.mkdir(parents=True)
    for number in range(count):
        rng = np.random.default_rng(number)
        height, width = size
        shade = np.linspace(235, 190, width) + rng.normal(0, 1, (height, 1)) * 3
        page = shade + rng.normal(0, 5, size)
        for top in range(250, height - 250, 58):
            for left in range(250, width - 250, 21):
                if rng.random() < 0.85:
                    tall, wide = rng.integers(12, 30), rng.integers(3, 7)
                    page[top : top + tall, left : left + wide] -= rng.uniform(60, 150)
        save(folder / f"{number}.jpg", page, dpi=300)


def make_small_pages(folder: Path, count: int) -> None:
    """Pages of 0.2 megapixels whose strokes are two pixels wide."""
    folder.mkdir(parents=True)
    for number in range(count):
        rng = np.random.default_rng(number)
        page = rng.normal(215, 5, SMALL)
        for top in range(20, SMALL[0] - 20, 16):
            for left in range(20, SMALL[1] - 20, 8):
                if rng.random() < 0.85:
                    page[top : top + rng.integers(5, 10), left : left + 2] -= rng.uniform(90, 150)
        save(folder / f"{number}.jpg", page, dpi=75)


def save(path: Path, page: np.ndarray, *, dpi: int) -> None:
    image = Image.fromarray(np.clip(page, 0, 255).astype(np.uint8)).convert("RGB")
    image.save(path, quality=90, dpi=(dpi, dpi))


def cpu_seconds() -> float:
    """The processor seconds of this process and of its finished children."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(t.ru_utime + t.ru_stime for t in times)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=Path, help="Binarize the pages of this folder.")
    parser.add_argument("--small", action="store_true", help="Make 40 small pages with two-pixel strokes.")
    parser.add_argument("--count", type=int, help="Make this many pages.")
    parser.add_argument("--model", default="lite")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--stride", type=int)
    parser.add_argument("--protocol", default="default")
    parser.add_argument(
        "--precision", help="Run the network in this number format; the default is the package's."
    )
    parser.add_argument("--compare", metavar="REVISION", help="Take turns with this revision.")
    parser.add_argument("--rounds", type=int, default=3, help="Give each revision this many turns.")
    return parser.parse_args()


def main() -> None:
    args = parse()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.pages or Path(temporary) / "pages"
        if not args.pages and args.small:
            make_small_pages(folder, args.count or 40)
        elif not args.pages:
            make_pages(folder, args.count or 4)
        if args.compare:
            compare(args, folder)
        else:
            print(json.dumps(measure(args, folder, Path(temporary) / "out"), indent=2))


def compare(args: argparse.Namespace, folder: Path) -> None:
    """Print the figures of this code and of another revision, the median of all turns."""
    here = Path(__file__).resolve().parent.parent
    options = ["--pages", str(folder), "--model", args.model, "--workers", str(args.workers)]
    options += ["--precision", args.precision] if args.precision else []
    with tempfile.TemporaryDirectory() as other:
        archive = subprocess.run(
            ["git", "-C", str(here), "archive", args.compare, "src", "benchmarks/speed.py"],
            check=True,
            capture_output=True,
        )
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
            packed.extractall(other, filter="data")
        trees = {args.compare: Path(other), "this code": here}
        turns: dict[str, list[dict[str, Any]]] = {name: [] for name in trees}
        for _ in range(args.rounds):
            for name, tree in trees.items():
                environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
                command = [sys.executable, str(tree / "benchmarks" / "speed.py"), *options]
                done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
                turns[name].append(json.loads(done.stdout))
    print(f"{'':<20} " + " ".join(f"{title:>14}" for title in COLUMNS.values()))
    medians = {
        name: [statistics.median(turn[column] for turn in found) for column in COLUMNS]
        for name, found in turns.items()
    }
    for name, values in medians.items():
        print(f"{name:<20} " + " ".join(f"{value:14.3f}" for value in values))
    before, now = medians.values()
    print(
        f"{'ratio':<20} " + " ".join(f"{b / a if a else 0:14.3f}" for a, b in zip(before, now, strict=True))
    )


def measure(args: argparse.Namespace, folder: Path, output: Path) -> dict[str, Any]:
    """Binarize the pages with the package that is imported, and return its figures."""
    started = time.perf_counter()
    from dataclasses import replace

    from drmamba.config import PROTOCOLS, EngineConfig
    from drmamba.inference.batch import Batch
    from drmamba.inference.binarizer import Binarizer, UntrainedWarning
    from drmamba.inference.jobs import plan
    from drmamba.inference.tiling import probability

    warnings.simplefilter("ignore", UntrainedWarning)
    config = PROTOCOLS[args.protocol]
    if args.precision:
        config = replace(config, precision=args.precision)
    if args.stride:
        config = replace(config, windows=replace(config.windows, stride=args.stride))
    engine = EngineConfig(workers=args.workers)
    with Binarizer.from_pretrained(args.model, config=config, engine=engine) as binarizer:
        pool, precision = binarizer.pool, binarizer.config.precision
        window = np.random.default_rng(0).integers(0, 256, (512, 512, 3), np.uint8)
        probability(window, pool.predict(precision=precision))
        start_up = time.perf_counter() - started  # until the first window is done
        probability(window, pool.predict(precision=precision))
        pool.seconds = pool.pixels = 0
        wall, cpu = time.perf_counter(), cpu_seconds()
        records = list(Batch(binarizer).run(plan([folder], output)))
        wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
        network, seen = pool.seconds, pool.pixels
        pool.seconds = pool.pixels = 0
        for _ in range(8):
            probability(window, pool.predict(precision=precision))
        bare = pool.seconds / (pool.pixels / 1e6)
    failed = [record.error for record in records if record.error]
    if failed:
        sys.exit("\n".join(failed))
    megapixels = sum(record.megapixels for record in records)
    return {
        "pages": len(records),
        "megapixels": round(megapixels, 2),
        "workers": pool.count,
        "runtime": str(pool.devices[0]),
        "precision": precision,
        "trained": binarizer.provenance.trained,
        "windows": config.windows.to_dict(),
        "start_up_seconds": round(start_up, 2),
        "seconds_per_megapixel": round(wall / megapixels, 3),
        "cpu_seconds_per_megapixel": round(cpu / megapixels, 3),
        "cpu_seconds_per_megapixel_and_core": round(cpu / megapixels / pool.count, 3),
        "share_in_network": round(network / cpu, 3),
        "pixels_seen_per_pixel": round(seen / 1e6 / megapixels, 3),
        "bare_network_cpu_seconds_per_megapixel": round(bare, 3),
        "ratio_to_bare_network": round(cpu / megapixels / bare, 3),
    }


if __name__ == "__main__":
    main()
