"""Peak resident memory of `drmamba binarize` on a large page, all its processes together.

    python benchmarks/memory.py                        # 100 megapixels as TIFF, PNG and JPEG, under 1 GB
    python benchmarks/memory.py --side 30000 --kinds tif --sparse
    python benchmarks/memory.py --batch 8 --limit 700  # pages of A4 at 300 dpi

The page, text-like strokes on shaded paper, is made here. `--sparse` leaves most of it white, which changes the time
and not the memory. It runs on Linux only, because memory is read from /proc.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

A4 = (2480, 3508)  # pixels at 300 dpi


def make_page(size: tuple[int, int], *, sparse: bool, grey: bool) -> Image.Image:
    """A page of noisy paper with rows of short strokes."""
    rng = np.random.default_rng(0)
    tile = np.clip(rng.normal(215, 6, (1024, 1024, 3)), 0, 255).astype(np.uint8)
    for y in range(40, 1000, 48):
        for x in range(30, 990, 22):
            tile[y : y + rng.integers(8, 30), x : x + rng.integers(3, 7)] = rng.integers(20, 90)
    if grey:
        tile = tile[:, :, 0]
    page = Image.new("L" if grey else "RGB", size, "white")
    stamp = Image.fromarray(tile)
    for top in range(0, size[1], 1024 * (4 if sparse else 1)):
        for left in range(0, size[0], 1024 * (4 if sparse else 1)):
            page.paste(stamp, (left, top))
    return page


def make_source(folder: Path, kind: str, page: Image.Image, batch: int) -> Path:
    """The page as a file, or that many copies of it in a folder."""
    options = {"compression": "tiff_lzw"} if kind == "tif" else {}
    source = folder / f"page.{kind}"
    if not batch:
        page.save(source, **options)
        return source
    source = folder / kind
    source.mkdir()
    for number in range(batch):
        page.save(source / f"{number}.{kind}", **options)
    return source


def tree(pid: int) -> list[int]:
    """A process and everything it started."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += tree(int(child))
    return found


def resident(pid: int) -> tuple[int, int]:
    """The sums of RSS and of PSS in bytes; PSS counts memory that processes share once."""
    rss = pss = 0
    for one in tree(pid):
        for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
            name, _, value = line.partition(":")
            if name == "Rss":
                rss += int(value.split()[0]) * 1024
            elif name == "Pss":
                pss += int(value.split()[0]) * 1024
    return rss, pss


def measure(command: list[str]) -> dict[str, float]:
    """Run a command and record its peak memory."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    peak = [0, 0]
    while process.poll() is None:
        with contextlib.suppress(OSError):  # a process ended while it was looked at
            peak = [max(pair) for pair in zip(peak, resident(process.pid), strict=True)]
        time.sleep(0.05)
    assert process.stderr is not None
    if process.returncode:
        raise SystemExit(f"failed: {process.stderr.read()}")
    return {
        "rss_mb": round(peak[0] / 1e6),
        "pss_mb": round(peak[1] / 1e6),
        "seconds": round(time.perf_counter() - started, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--side", type=int, default=10_000)
    parser.add_argument(
        "--batch", type=int, default=0, help="Make this many pages of A4 instead of a large one."
    )
    parser.add_argument("--kinds", default="tif,png,jpg")
    parser.add_argument("--sparse", action="store_true")
    parser.add_argument("--grey", action="store_true")
    parser.add_argument("--limit", type=float, default=1000, help="Fail above this many megabytes of RSS.")
    parser.add_argument("options", nargs="*", help="Pass these options to drmamba binarize; they follow --.")
    args = parser.parse_args()
    Image.MAX_IMAGE_PIXELS = None
    over = False
    with tempfile.TemporaryDirectory() as folder:
        size = A4 if args.batch else (args.side, args.side)
        page = make_page(size, sparse=args.sparse, grey=args.grey)
        for kind in args.kinds.split(","):
            source = make_source(Path(folder), kind, page, args.batch)
            command = [sys.executable, "-m", "drmamba", "binarize", str(source), "-o", f"{folder}/out-{kind}"]
            result = measure([*command, *args.options])
            over |= result["rss_mb"] > args.limit
            megapixels = max(1, args.batch) * size[0] * size[1] / 1e6
            print(json.dumps({"kind": kind, "megapixels": megapixels, **result}), flush=True)
            shutil.rmtree(source) if args.batch else source.unlink()
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
