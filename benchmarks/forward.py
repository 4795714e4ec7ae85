"""The speed of each preset on one 512 x 512 window, beside that of a matrix product in the same run.

python benchmarks/forward.py --json
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import torch

from drmamba.config import PRESETS
from drmamba.model.cost import gflops
from drmamba.model.fuse import fused
from drmamba.model.network import DRMamba


def best_seconds(work: Callable[[], object], repeats: int) -> float:
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="Print one JSON object.")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=10)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)
    matrix = torch.rand(2048, 2048)
    peak = 2 * 2048**3 / best_seconds(lambda: matrix @ matrix, arguments.repeats) / 1e9
    result: dict[str, object] = {
        "matmul_gflops": peak,
        "threads": arguments.threads,
        "torch": torch.__version__,
    }
    page = torch.rand(1, 3, 512, 512).contiguous(memory_format=torch.channels_last)
    for name, config in PRESETS.items():
        network = fused(DRMamba(config))
        with torch.inference_mode():
            seconds = best_seconds(lambda net=network: net(page), arguments.repeats)
        speed = gflops(config) / seconds
        result[name] = {"seconds": seconds, "gflops_per_second": speed, "share_of_matmul": speed / peak}
    if arguments.json:
        print(json.dumps(result))
        return
    print(f"matmul  {peak:7.1f} GFLOP/s")
    for name in PRESETS:
        row = result[name]
        assert isinstance(row, dict)
        print(
            f"{name:<7} {row['gflops_per_second']:7.1f} GFLOP/s, {100 * row['share_of_matmul']:.0f} % of it; "
            f"{row['seconds']:.3f} s a window"
        )


if __name__ == "__main__":
    main()
