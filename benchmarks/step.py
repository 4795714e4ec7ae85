"""The time of one training update, part by part, beside that of a matrix product measured in the same run.

    python benchmarks/step.py                                  # lite, eight 256 x 256 crops
    python benchmarks/step.py --data ROOT --textures DIR       # with real crops: what making them costs
    python benchmarks/step.py --precision float32 --layout plain --optimizer loop

It measures first the parts, with all threads inside each operation, then whole updates as `drmamba train` does them on
a CPU: threads that share the batch and make their own crops (--threads), or one thread that makes crops ahead.

    python benchmarks/step.py --data ROOT --textures DIR --compare REVISION     # crops a second, side by side

The last command takes turns with another revision of this repository, which it unpacks into a temporary folder and
measures with that revision's own copy of this file. It measures whole updates of `drmamba train` with as many threads
as there are cores, with the network and recipe that each revision has under the same name, without page context and,
where a revision has it, with page context.

Times are the median of the repeats; the smallest beside it shows how much other programs disturbed them.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch

from drmamba.config import RunConfig, recipe, replace_values
from drmamba.data.dataset import CropDataset
from drmamba.data.dibco import find_pairs
from drmamba.losses.compound import compound
from drmamba.ops.bfloat16 import has_bfloat16
from drmamba.training.batch_loader import BatchLoader, collate
from drmamba.training.data_parallel import DataParallelTrainer, thread_count
from drmamba.training.initialization import initial_network
from drmamba.training.learner import Batch, Learner

PARTS = ("encoder", "decoder", "block", "reconstruction")
Times = dict[str, list[float]]
TURN = 12  # updates in one turn of a comparison
WARM_UP = 4  # additional updates in the first turn, which compiles


def main() -> None:
    arguments = parse()
    if arguments.worker:
        work(arguments)
        return
    if arguments.compare:
        compare(arguments)
        return
    torch.manual_seed(0)
    torch.set_flush_denormal(arguments.denormals == "flush")
    config = replace_values(
        recipe(arguments.preset), {"data": {"crop": arguments.size, "textures": arguments.textures}}
    )
    if not arguments.data:
        config = replace_values(config, {"data": {"synthetic_share": 1.0}})
    crops = CropDataset(find_pairs(arguments.data) if arguments.data else [], config.data, config.loss)
    learner = Learner(initial_network(config), config)
    if arguments.layout == "plain":
        learner.network.to(memory_format=torch.contiguous_format)
    if arguments.optimizer == "loop":
        for group in learner.optimizer.param_groups:
            group["fused"], group["foreach"] = False, False
    print(
        f"{arguments.preset}, {arguments.crops} crops of {arguments.size}, {torch.get_num_threads()} threads"
    )
    times: Times = defaultdict(list)
    for repeat in range(arguments.repeats + 2):
        if repeat == 2:
            times.clear()  # the first two compile and warm up
        update(learner, crops, config, arguments, times, repeat)
    product = min(timed(lambda: torch.mm(*torch.rand(2, 1024, 1024))) for _ in range(5))
    report(times, product)
    for count in arguments.threads:
        values = whole_updates(learner, crops, arguments, count)
        shown = f"{count} threads" if count > 1 else "made ahead"
        print(f"{'update with crops, ' + shown:<30} {statistics.median(values):9.3f} {min(values):9.3f}")


def compare(arguments: argparse.Namespace) -> None:
    """Crops a second of this code and of another revision's, measured in turns."""
    here = Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(
            ["git", "-C", str(here), "archive", arguments.compare, "src", "benchmarks"],
            check=True,
            capture_output=True,
        )
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
            packed.extractall(folder, filter="data")
        trees = {arguments.compare: Path(folder), "this code": here}
        workers = {
            f"{name}, {kind}": Worker(tree, kind, arguments)
            for name, tree in trees.items()
            for kind in ("plain", "context")
        }
        rates: dict[str, list[float]] = defaultdict(list)
        for _ in range(arguments.rounds):
            for name, worker in workers.items():
                if (rate := worker.turn()) is not None:
                    rates[name].append(rate)
        for worker in workers.values():
            worker.close()
    base = statistics.median(rates[f"{arguments.compare}, plain"])
    print(f"{'':<40} {'crops/s':>8} {'ratio':>6}")
    for name, values in rates.items():
        print(f"{name:<40} {statistics.median(values):8.2f} {statistics.median(values) / base:6.2f}")


class Worker:
    """A process that trains with one revision's code, a few updates per request."""

    def __init__(self, tree: Path, kind: str, arguments: argparse.Namespace) -> None:
        command = [
            sys.executable,
            str(tree / "benchmarks" / "step.py"),
            "--worker",
            kind,
            "--preset",
            arguments.preset,
        ]
        command += ["--crops", str(arguments.crops), "--size", str(arguments.size)]
        for option in ("data", "textures"):
            if getattr(arguments, option):
                command += [f"--{option}", getattr(arguments, option)]
        environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def turn(self) -> float | None:
        """Crops a second; None where the revision has no such kind of training."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        answer = self.process.stdout.readline().strip()
        return float(answer) if answer else None

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def work(arguments: argparse.Namespace) -> None:
    """For every line of input, run a few updates and print the crops a second; the first turn also warms up."""
    config = replace_values(recipe(arguments.preset), {"data": {"textures": arguments.textures}})
    knows_context = hasattr(config.model, "context")
    if arguments.worker == "context" and not knows_context:
        return
    if knows_context and arguments.worker == "plain":
        config = replace_values(
            config, {"model": {"context": 0, "conventions": []}, "data": {"region": {"side": 0}}}
        )
    more: dict[str, Any] = {}
    if knows_context:
        model = config.model
        more = {"context": model.context, "conventions": model.conventions, "slots": arguments.crops}
    pairs = find_pairs(arguments.data) if arguments.data else []
    if not pairs:
        config = replace_values(config, {"data": {"synthetic_share": 1.0}})
    torch.set_flush_denormal(True)
    crops = CropDataset(pairs, config.data, config.loss, **more)
    learner = Learner(initial_network(config), config)
    narrow = has_bfloat16(torch.device("cpu"))

    def losses(network: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        def forward(image: torch.Tensor, **conditions: torch.Tensor) -> object:
            with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
                return network(image, **conditions)

        return learner.losses(forward, batch)

    threads = thread_count(arguments.crops, torch.get_num_threads())
    trainer = DataParallelTrainer(learner.network, losses, threads) if threads > 1 else None
    if trainer:
        learner.accumulate_gradients = trainer.accumulate_gradients
    loader = BatchLoader(crops, 0, arguments.crops, lazy=trainer is not None)
    step = 0
    for _ in sys.stdin:
        updates = TURN if step else TURN + WARM_UP
        for number in range(updates):
            if number == updates - TURN:
                started = time.perf_counter()
            learner.update(step, loader.take(1), 0.5)
            step += 1
        print(TURN * arguments.crops / (time.perf_counter() - started), flush=True)
    loader.close()


def whole_updates(
    learner: Learner, crops: CropDataset, arguments: argparse.Namespace, count: int
) -> list[float]:
    """The seconds of whole updates, as a run makes them."""

    def precise() -> AbstractContextManager[object]:
        return torch.autocast("cpu", torch.bfloat16) if arguments.precision == "bfloat16" else nullcontext()

    def forward(network: torch.nn.Module, image: torch.Tensor, **conditions: torch.Tensor) -> object:
        with precise():
            return network(image, **conditions)

    def losses(network: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        return learner.losses(partial(forward, network), batch)

    trainer = DataParallelTrainer(learner.network, losses, count) if count > 1 else None
    learner.accumulate_gradients = trainer.accumulate_gradients if trainer else learner._accumulate_gradients
    learner.forward = partial(forward, learner.network)
    loader = BatchLoader(crops, 1000, arguments.crops, lazy=trainer is not None)
    values = [
        timed(lambda step=step: learner.update(step, loader.take(1), 0.5))
        for step in range(arguments.repeats + 2)
    ]
    loader.close()
    if trainer:
        trainer.close()
    return values[2:]


def update(
    learner: Learner,
    crops: CropDataset,
    config: RunConfig,
    arguments: argparse.Namespace,
    times: Times,
    repeat: int,
) -> None:
    """One update as `Learner.update` does it, with a clock between its parts."""
    started = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal started
        now = time.perf_counter()
        times[name].append(now - started)
        started = now

    first = repeat * arguments.crops
    batch = collate(crops, range(first, first + arguments.crops))
    lap("making the crops")
    whole = time.perf_counter()
    hooks = [clock_part(getattr(learner.network, part), part, times) for part in PARTS]
    narrow = torch.autocast("cpu", torch.bfloat16) if arguments.precision == "bfloat16" else nullcontext()
    image = batch["image"]
    if arguments.layout != "plain":
        image = image.contiguous(memory_format=torch.channels_last)
    with narrow:
        output = learner.forward(image)
    for pair in hooks:
        for hook in pair:
            hook.remove()
    lap("forward")
    loss = compound(output.logits, output.auxiliary, batch, config.loss).total
    lap("loss")
    loss.backward()
    lap("backward (with the loss's)")
    torch.nn.utils.clip_grad_norm_(learner.network.parameters(), 1.0)
    learner.optimizer.step()
    learner.optimizer.zero_grad(set_to_none=True)
    lap("clipping and AdamW")
    learner.ema.update(repeat + 1)
    lap("averaged weights")
    times["update without crops"].append(time.perf_counter() - whole)


def clock_part(
    module: torch.nn.Module, name: str, times: Times
) -> tuple[torch.utils.hooks.RemovableHandle, ...]:
    started = [0.0]

    def before(*_: object) -> None:
        started[0] = time.perf_counter()

    def after(*_: object) -> None:
        times[f"  forward: {name}"].append(time.perf_counter() - started[0])

    return module.register_forward_pre_hook(before), module.register_forward_hook(after)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def report(times: Times, product: float) -> None:
    whole = statistics.median(times["update without crops"])
    print(f"{'part':<30} {'median s':>9} {'least s':>9} {'share':>7}")
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"{name:<30} {middle:9.3f} {min(values):9.3f} {100 * middle / whole:6.1f} %")
    gflops = 2 * 1024**3 / product / 1e9
    print(f"float32 product of 1024 x 1024: {product * 1e3:.1f} ms ({gflops:.0f} GFLOP/s)")
    print(f"one update takes as long as {whole / product:.0f} of them")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", default="lite")
    parser.add_argument("--crops", type=int, default=8)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=12)
    parser.add_argument("--precision", choices=["bfloat16", "float32"], default="bfloat16")
    parser.add_argument("--layout", choices=["channels-last", "plain"], default="channels-last")
    parser.add_argument("--optimizer", choices=["fused", "loop"], default="fused")
    parser.add_argument("--denormals", choices=["flush", "keep"], default="flush")
    parser.add_argument(
        "--threads",
        "--lanes",
        type=int,
        nargs="*",
        default=[1, 2],
        help="Let this many threads share a batch; may be several numbers.",
    )
    parser.add_argument(
        "--compare", metavar="REVISION", help="Take turns with this revision, and print crops per second."
    )
    parser.add_argument("--rounds", type=int, default=5, help="Give each revision this many turns.")
    parser.add_argument("--worker", choices=["plain", "context"], help=argparse.SUPPRESS)
    parser.add_argument("--data", help="Cut crops from this data root; without it crops are synthetic.")
    parser.add_argument("--textures")
    return parser.parse_args()


if __name__ == "__main__":
    main()
