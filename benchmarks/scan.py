"""The time of the compiled scan beside that of the reference, of other libraries, and of copying the data.

    pip install mambapy && python benchmarks/scan.py --json

All are measured in one run: batch 1, 128 x 128 tokens, 96 channels, four directions, forward and backward, two threads.
The other libraries run the same two recurrences along the same four orders: torch's `associative_scan` in its plain
form (combine_mode="generic", the only one for CPUs; eager and compiled) and mambapy's `pscan`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from drmamba.config import preset
from drmamba.model.fuse import fused
from drmamba.model.network import DRMamba
from drmamba.ops import dual_route_scan, scan_orders

SIDE, WIDTH, DIRECTIONS = 128, 96, 4


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The best time of a few runs after a warm-up, or that of a single run if it takes too long."""
    if repeats > 1:
        work()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def inputs() -> list[Tensor]:
    random = torch.Generator().manual_seed(0)
    tokens = [torch.rand(1, SIDE * SIDE, WIDTH, generator=random) for _ in range(4)]
    rates = [torch.rand(WIDTH, generator=random) + 0.5, torch.rand(WIDTH, generator=random) * 0.1]
    return [x.requires_grad_() for x in (*tokens, *rates)]


def both_ways(scan: Callable[..., Tensor], values: list[Tensor], upstream: Tensor) -> Callable[[], object]:
    return lambda: torch.autograd.grad(scan(*values), values, upstream)


def by_linear_scan(linear: Callable[[Tensor, Tensor], Tensor], orders: Tensor) -> Callable[..., Tensor]:
    """The dual-route form on top of a peer's linear scan h_t = a_t h_{t-1} + b_t over (B, T, d)."""
    inverses = torch.argsort(orders, 1)

    def scan(s: Tensor, g: Tensor, delta: Tensor, beta: Tensor, A_D: Tensor, A_B: Tensor) -> Tensor:
        a = torch.cat([torch.exp(-delta * A_D), torch.exp(-delta * A_B)], -1)
        b = torch.cat([g * s, g * (1 - s)], -1)
        total = sum(linear(a[:, o], b[:, o])[:, i] for o, i in zip(orders, inverses, strict=True))
        D, B = total.chunk(2, -1)
        return D - beta * B

    return scan


def peers() -> dict[str, Callable[[Tensor, Tensor], Tensor]]:
    from torch._higher_order_ops.associative_scan import associative_scan

    def combine(left: tuple[Tensor, Tensor], right: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return left[0] * right[0], right[0] * left[1] + right[1]

    def torch_scan(a: Tensor, b: Tensor) -> Tensor:
        return associative_scan(combine, (a, b), dim=1, combine_mode="generic")[1]

    found = {"associative_scan": torch_scan}
    try:
        from mambapy.pscan import pscan
    except ImportError:
        print("mambapy is not installed: pip install mambapy to compare with it", file=sys.stderr)
    else:
        found["mambapy_pscan"] = lambda a, b: pscan(a[..., None], b[..., None])[..., 0]
    return found


def lite_forward(repeats: int) -> tuple[float, float]:
    """Seconds of `lite` on one 512 x 512 window, and of the scan inside it."""
    network = fused(DRMamba(preset("lite")))
    page = torch.rand(1, 3, 512, 512).contiguous(memory_format=torch.channels_last)
    d = network.config.block.width
    values = [x.detach()[..., :d].contiguous() for x in inputs()]
    orders = scan_orders(DIRECTIONS, SIDE, SIDE)
    with torch.inference_mode():
        whole = seconds(lambda: network(page), repeats)
        scan = seconds(lambda: dual_route_scan(*values, orders, backend="numba"), repeats)
    return whole, scan


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="Print one JSON object.")
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(2)
    torch.set_flush_denormal(True)

    values, orders = inputs(), scan_orders(DIRECTIONS, SIDE, SIDE)
    upstream = torch.rand(1, SIDE * SIDE, WIDTH)
    times = {
        name: seconds(
            both_ways(lambda *v, b=name: dual_route_scan(*v, orders, backend=b), values, upstream), repeats
        )
        for name, repeats in (("numba", arguments.repeats), ("chunked", 2), ("reference", 1))
    }
    for name, linear in peers().items():
        times[name] = seconds(both_ways(by_linear_scan(linear, orders), values, upstream), 2)
    # What any scan must at least move: four token maps in and one out, forward; five in and four out, backward.
    maps = [v.detach() for v in values[:4]] + [upstream]
    times["copy"] = seconds(lambda: [x.clone() for x in (*maps, *maps, *maps[:4])], arguments.repeats)
    whole, scan = lite_forward(arguments.repeats)

    best_peer = min((n for n in times if n in ("associative_scan", "mambapy_pscan")), key=lambda n: times[n])
    result = {
        "numba_vs_reference": times["reference"] / times["numba"],
        "numba_vs_best_peer": times[best_peer] / times["numba"],
        "best_peer": best_peer,
        "numba_vs_copy": times["numba"] / times["copy"],
        "share_of_forward": scan / whole,
        "lite_forward_512": whole,
        "seconds": times,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
    }
    if arguments.json:
        print(json.dumps(result))
        return
    for name, value in sorted(times.items(), key=lambda item: item[1]):
        print(f"{name:<18} {value * 1000:9.1f} ms   {value / times['numba']:7.1f} x numba")
    print(f"scan in lite's forward: {scan * 1000:.1f} of {whole * 1000:.1f} ms, {100 * scan / whole:.1f} %")


if __name__ == "__main__":
    main()
