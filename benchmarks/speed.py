"""End-to-end speed of `drmamba binarize`, and the share of it that is the network.

    python benchmarks/speed.py                     # four A4 pages at 300 dpi, made here
    python benchmarks/speed.py --pages FOLDER      # your own

Times are of the batch: files read, decoded, binarized, written; starting Python and torch is not in them and
stands beside. Wall time depends on what else the machine does; CPU time, divided by the cores, hardly. The same
run measures what the bare network needs for the same pixels without any overlap: the ratio to it is what reading,
overlap, blending and writing cost.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from PIL import Image


def make_pages(folder: Path, count: int, size: tuple[int, int] = (3508, 2480)) -> None:
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
        image = Image.fromarray(np.clip(page, 0, 255).astype(np.uint8)).convert("RGB")
        image.save(folder / f"{number}.jpg", quality=90, dpi=(300, 300))


def cpu_seconds() -> float:
    """The processor seconds of this process and of its finished children."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(t.ru_utime + t.ru_stime for t in times)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=Path, help="a folder of pages")
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--model", default="lite")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--stride", type=int)
    parser.add_argument("--protocol", default="default")
    parser.add_argument("--precision", default="float32")
    args = parser.parse_args()

    started = time.perf_counter()
    from dataclasses import replace

    import torch

    from drmamba.config import PROTOCOLS, EngineConfig
    from drmamba.inference.batch import Batch
    from drmamba.inference.binarizer import Binarizer, UntrainedWarning
    from drmamba.inference.jobs import plan
    from drmamba.inference.tiling import probability

    warnings.simplefilter("ignore", UntrainedWarning)
    config = replace(PROTOCOLS[args.protocol], precision=args.precision)
    if args.stride:
        config = replace(config, windows=replace(config.windows, stride=args.stride))
    binarizer = Binarizer.from_pretrained(
        args.model, config=config, engine=EngineConfig(workers=args.workers)
    )
    with tempfile.TemporaryDirectory() as temporary, binarizer:
        folder = args.pages or Path(temporary) / "pages"
        if not args.pages:
            make_pages(folder, args.count)
        window = np.random.default_rng(0).integers(0, 256, (512, 512, 3), np.uint8)
        for _ in range(2):  # compiles the scans, fills the caches
            probability(window, binarizer.pool.predict(precision=args.precision))
        start_up = time.perf_counter() - started
        pool = binarizer.pool
        pool.seconds = pool.pixels = 0
        wall, cpu = time.perf_counter(), cpu_seconds()
        records = list(Batch(binarizer).run(plan([folder], Path(temporary) / "out")))
        wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
        network, seen = pool.seconds, pool.pixels
        pool.seconds = pool.pixels = 0
        for _ in range(8):
            probability(window, pool.predict(precision=args.precision))
        bare = pool.seconds / (pool.pixels / 1e6)
    failed = [record.error for record in records if record.error]
    if failed:
        sys.exit("\n".join(failed))
    megapixels = sum(record.megapixels for record in records)
    result = {
        "pages": len(records),
        "megapixels": round(megapixels, 2),
        "workers": pool.count,
        "torch": torch.__version__,
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
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
