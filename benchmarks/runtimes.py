"""The network in torch, ONNX Runtime and OpenVINO: one 512 x 512 window, in the same run.

    python benchmarks/runtimes.py --model RUN/model.safetensors --exported lite.onnx --json

It times one window on one thread, one window on two threads, and two workers of one thread each, which is how
`drmamba binarize` works. The runtimes take turns, so that a change of the machine's load affects all of them. If the
model has page context, a window gets a context of zeros, and encoding a reduced page of the same size is timed, too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

# The number of threads per window, and of windows at once.
WAYS = {"one thread": (1, 1), "two threads": (2, 1), "two workers": (1, 2)}
Run = Callable[[], Any]


def torch_run(model: str, window: np.ndarray, threads: int) -> Run:
    import torch

    from drmamba.config import EngineConfig
    from drmamba.inference.models import load_model
    from drmamba.inference.runtime.torch import TorchRuntime
    from drmamba.model.fuse import fused

    network = load_model(model, EngineConfig(runtime="torch"))[0]
    runtime, network = TorchRuntime(network, EngineConfig(device="cpu", workers=1)), fused(network)

    def run() -> Any:
        torch.set_num_threads(threads)
        torch.set_flush_denormal(True)
        return runtime.run(network, window, 1.0)

    return run


def feed(window: np.ndarray, shapes: dict[str, Any], *, look: bool = False) -> dict[str, np.ndarray]:
    """All inputs of a model, by their shapes; the page context is zeros, or absent to encode a page (`look`)."""
    batch, rows, columns = (0, 0, 0) if look else (len(window), *window.shape[1:3])
    known = {"page": window, "suppress": np.array(1, np.float32), "convention": np.array(0)}
    for name, stride in (("context_3", 16), ("context_4", 32)):
        if name in shapes:
            size = [-(-side // 32) * 32 // stride for side in (rows, columns)]
            known[name] = np.zeros((batch, shapes[name][1], *size), np.float32)
    return {name: known[name] for name in shapes}


def onnx_run(
    path: Path, window: np.ndarray, threads: int, profile: bool = False, *, look: bool = False
) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.enable_mem_pattern = False  # as drmamba.inference.runtime.onnx sets it
    options.enable_profiling = profile
    options.profile_file_prefix = str(Path(tempfile.mkdtemp()) / "profile")
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    given = feed(window, {one.name: one.shape for one in session.get_inputs()}, look=look)
    run = lambda: session.run(None, given)[0]  # noqa: E731
    run.session = session  # type: ignore[attr-defined]
    return run


def openvino_run(path: Path, window: np.ndarray, threads: int, workers: int) -> Run:
    import openvino

    core = openvino.Core()
    settings = {
        "INFERENCE_NUM_THREADS": threads * workers,
        "NUM_STREAMS": workers,
        "INFERENCE_PRECISION_HINT": "f32",
    }
    compiled = core.compile_model(core.read_model(str(path)), "CPU", settings)
    requests = [compiled.create_infer_request() for _ in range(workers)]
    shapes = {one.any_name: one.partial_shape.to_string().strip("[]").split(",") for one in compiled.inputs}
    given = feed(
        window, {name: [int(n) if n.isdigit() else n for n in shape] for name, shape in shapes.items()}
    )

    def run() -> Any:
        request = requests.pop()
        try:
            return request.infer(given)[0].copy()
        finally:
            requests.append(request)

    return run


def has_context(path: Path) -> bool:
    from drmamba.inference.models import read_header

    return bool(read_header(path)[0].context)


def seconds(run: Run, workers: int) -> float:
    """The seconds per window, with that many windows at once."""
    if workers == 1:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start
    with ThreadPoolExecutor(workers) as pool:
        start = time.perf_counter()
        for one in [pool.submit(run) for _ in range(2 * workers)]:
            one.result()
        return (time.perf_counter() - start) / (2 * workers)


def shares(path: Path, window: np.ndarray) -> dict[str, float]:
    """Milliseconds per window by operator; operators inside a Scan or an If are counted there and by themselves."""
    run = onnx_run(path, window, 1, profile=True)
    for _ in range(4):
        run()
    events = json.loads(Path(run.session.end_profiling()).read_text())  # type: ignore[attr-defined]
    total: Counter[str] = Counter()
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            total[event["args"]["op_name"]] += event["dur"] / 4000
    return {name: round(value, 1) for name, value in total.most_common(10)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="lite")
    parser.add_argument("--exported", type=Path, help="Use this export of the model; without it one is made.")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--json", action="store_true", help="Print one JSON object.")
    args = parser.parse_args()
    exported = args.exported
    if exported is None:
        from drmamba.integrations.onnx import export

        exported = Path(tempfile.mkdtemp()) / "model.onnx"
        export(args.model, exported)
    window = np.random.default_rng(0).integers(0, 256, (1, 512, 512, 3), np.uint8)
    context = has_context(exported)
    result: dict[str, Any] = {"ways": {}}
    for way, (threads, workers) in WAYS.items():
        runs = {
            "torch": torch_run(args.model, window, threads),
            "onnx": onnx_run(exported, window, threads),
        }
        with contextlib.suppress(ImportError):
            runs["openvino"] = openvino_run(exported, window, threads, workers)
        truth = runs["torch"]()
        result["difference"] = {name: float(np.abs(run() - truth).max()) for name, run in runs.items()}
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(args.rounds):
            for name, run in runs.items():
                times[name].append(seconds(run, workers))
        best = {name: min(values) for name, values in times.items()}
        if context:
            looks = onnx_run(exported, window, threads, look=True)
            best["onnx look"] = min(seconds(looks, workers) for _ in range(args.rounds + 1))
        result["ways"][way] = {
            name: {"seconds": round(value, 4), "times_torch": round(value / best["torch"], 3)}
            for name, value in best.items()
        }
    result["onnx_milliseconds"] = shares(exported, window)
    if args.json:
        print(json.dumps(result))
        return
    for way, rows in result["ways"].items():
        for name, row in rows.items():
            print(f"{way:<12} {name:<9} {row['seconds']:.4f} s a window, {row['times_torch']:.3f} of torch's")
    print(f"largest difference of a probability to torch: {result['difference']}")
    print(f"ONNX Runtime, one thread, milliseconds by operator: {result['onnx_milliseconds']}")


if __name__ == "__main__":
    main()
