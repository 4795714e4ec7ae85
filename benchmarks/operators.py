"""Where a window's time goes in ONNX Runtime: by operator, by part of the network, and the distance to the peak.

    taskset -c 1 python benchmarks/operators.py                     # the embedded model
    taskset -c 1 python benchmarks/operators.py FILE.onnx FILE.onnx # exports, one after the other

One thread. Every round runs the window, the window with ONNX Runtime's profiler, and a product of two 1024 x 1024
float32 matrices, which stands for the machine's peak; the smallest and the median of the rounds are printed, in
processor time. An operator's time is its smallest. The profiler costs a few microseconds for each operator, also for
those inside a `Scan`; `bare` is the time without it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime

PARTS = ("encoder", "context", "decoder", "block", "scan", "reconstruction")
MATRIX = 1024  # rows and columns
STRIDES = {"context_3": 16, "context_4": 32}


def named(model: Any) -> dict[str, tuple[str, Any]]:
    """Name the model's nodes; return the part of the network and the node for each name, and for each first output."""
    places: dict[str, tuple[str, Any]] = {}
    made_by: dict[str, str] = {}
    convolutions: dict[str, Any] = {}

    def visit(graph: Any, inside: bool) -> None:
        for node in graph.node:
            part = "inside" if inside else part_of(node, made_by)
            node.name = f"{part}/{node.op_type}/{len(places)}"
            places[node.name] = part, node
            # A convolution that runs together with its activation has the name of the activation's output.
            behind = convolutions.get(next(iter(node.input), ""), node)
            for output in node.output:
                made_by[output] = part
                places[output] = part, behind
                if node.op_type == "Conv":
                    convolutions[output] = node
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    visit(attribute.g, inside or node.op_type == "Scan")

    visit(model.graph, False)
    return places


def part_of(node: Any, made_by: dict[str, str]) -> str:
    """The part whose weights a node has; otherwise that of the values it reads, the furthest along."""
    if node.op_type == "Scan":
        return "scan"
    owners = [part for part in PARTS for name in node.input if f"{part}." in name]
    if owners:
        return owners[0]
    read = [made_by[name] for name in node.input if name in made_by]
    # Weights that are only reshaped, and whatever follows the scans, belong to the block.
    known = [part for part in read if part in PARTS]
    return max(known, key=PARTS.index).replace("scan", "block") if known else "input"


def session(source: bytes, profile: str = "") -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # as drmamba.inference.runtime.onnx sets it
    options.log_severity_level = 3
    options.enable_profiling = bool(profile)
    options.profile_file_prefix = profile
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def feed(inputs: Any, side: int) -> dict[str, np.ndarray]:
    """A window of noise and all else that a model takes, with a context of zeros."""
    window = np.random.default_rng(0).integers(0, 256, (1, side, side, 3), np.uint8)
    known: dict[str, Any] = {"page": window, "suppress": np.array(1, np.float32), "convention": np.array(0)}
    for one in inputs:
        if one.name in STRIDES:
            cells = side // STRIDES[one.name]
            known[one.name] = np.zeros((1, one.shape[1], cells, cells), np.float32)
    return {one.name: known[one.name] for one in inputs if one.name in known}


def product() -> Callable[[], Any]:
    size = [MATRIX, MATRIX]
    graph = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["": 18]> g (float{size} a, float{size} b) => (float{size} c) '
        "{ c = MatMul (a, b) }"
    )
    matrices = {name: np.random.default_rng(0).random(size, np.float32) for name in "ab"}
    run = session(graph.SerializeToString())
    return lambda: run.run(None, matrices)


def events(path: str) -> Iterator[dict[str, Any]]:
    for event in json.loads(Path(path).read_text()):
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            yield event


def shortest(found: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The event of each node that took the least time in any round."""
    best: dict[str, dict[str, Any]] = {}
    for event in found:
        name = event["name"].removesuffix("_kernel_time")
        if name not in best or event["dur"] < best[name]["dur"]:
            best[name] = event
    return best


def multiply_adds(node: Any, weights: dict[str, tuple[int, ...]], event: dict[str, Any]) -> int:
    """Those of a convolution or a product with constant weights."""
    shape = next(
        (
            weights[name]
            for name in node.input[1:2]
            if node.op_type in ("Conv", "Gemm", "MatMul") and name in weights
        ),
        None,
    )
    if shape is None:
        return 0
    output = next(iter(event["args"]["output_type_shape"][0].values()))
    positions = np.prod(output) // output[1] if node.op_type == "Conv" else np.prod(output[:-1])
    return int(positions) * int(np.prod(shape))


def shapes(graph: Any) -> dict[str, tuple[int, ...]]:
    """The shapes of all weights, also of those in branches."""
    found = {one.name: tuple(one.dims) for one in graph.initializer}
    for node in graph.node:
        for attribute in node.attribute:
            found |= shapes(attribute.g) if attribute.HasField("g") else {}
    return found


def timed(run: Callable[[], Any]) -> float:
    start = time.thread_time()  # A session of one thread works on the thread that calls it.
    run()
    return time.thread_time() - start


def measure(path: Path, side: int, rounds: int) -> dict[str, Any]:
    model = onnx.load(path)
    places, weights = named(model), shapes(model.graph)
    source = model.SerializeToString()
    with tempfile.TemporaryDirectory() as folder:
        bare, profiled, peak = session(source), session(source, f"{folder}/profile"), product()
        given = feed(bare.get_inputs(), side)
        once: dict[str, Callable[[], Any]] = {
            "bare": lambda: bare.run(["probability"], given),
            "profiled": lambda: profiled.run(["probability"], given),
            "product": peak,
        }
        times = {
            name: [timed(run) for _ in range(2)][2:] for name, run in once.items()
        }  # The first are left out.
        for _ in range(rounds):
            for name, run in once.items():
                times[name].append(timed(run))
        found = list(events(profiled.end_profiling()))
    operators: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    work: Counter[str] = Counter()
    for name, event in shortest(found).items():
        part, node = places.get(name.removesuffix("_nchwc"), ("layout", None))
        operator, seconds = event["args"]["op_name"], event["dur"] / 1e6
        if (
            part == "inside" or operator == "If"
        ):  # They are counted in their Scan, or by the nodes of their branch.
            continue
        operators[operator] += seconds
        parts[part] += seconds
        if node is not None:
            work[part] += 2 * multiply_adds(node, weights, event)
    return {
        "milliseconds": {
            name: {"min": 1000 * min(values), "median": 1000 * statistics.median(values)}
            for name, values in times.items()
        },
        "peak_gflops": 2 * MATRIX**3 / min(times["product"]) / 1e9,
        "gflop": sum(work.values()) / 1e9,
        "operators": {name: 1000 * value for name, value in operators.most_common(14)},
        "parts": {
            name: {"milliseconds": 1000 * value, "gflop": work[name] / 1e9}
            for name, value in parts.most_common()
        },
    }


def show(path: Path, found: dict[str, Any]) -> None:
    total = sum(one["milliseconds"] for one in found["parts"].values())
    print(f"{path.name}, milliseconds")
    for name, row in found["milliseconds"].items():
        print(f"  {name:<10} min {row['min']:7.1f}  median {row['median']:7.1f}")
    reached = found["gflop"] / found["milliseconds"]["bare"]["min"] * 1000
    print(
        f"  {found['gflop']:.1f} GFLOP in convolutions and products: {reached:.0f} GFLOP/s of the time, ",
        end="",
    )
    print(f"{reached / found['peak_gflops']:.0%} of the product's {found['peak_gflops']:.0f}")
    for name, row in found["parts"].items():
        speed = f"{1000 * row['gflop'] / row['milliseconds']:6.0f} GFLOP/s" if row["gflop"] else ""
        print(f"  {name:<15} {row['milliseconds']:7.1f} {row['milliseconds'] / total:5.0%} {speed}")
    for name, value in found["operators"].items():
        print(f"    {name:<20} {value:7.1f} {value / total:5.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", type=Path, help="exported models; the embedded one if left out")
    parser.add_argument("--side", type=int, default=640, help="pixels along each side of the window")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    args = parser.parse_args()
    if not args.models:
        import drmamba

        args.models = [Path(drmamba.__file__).parent / "weights" / "lite.onnx"]
    results = {str(path): measure(path, args.side, args.rounds) for path in args.models}
    if args.json:
        print(json.dumps(results))
        return
    for path in args.models:
        show(path, results[str(path)])


if __name__ == "__main__":
    main()
