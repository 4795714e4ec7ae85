"""Where the time of one training update goes, part by part, beside a matrix product measured in the same run.

    python benchmarks/step.py                                  # lite, eight 256 x 256 crops
    python benchmarks/step.py --data ROOT --textures DIR       # with real crops: what making them costs
    python benchmarks/step.py --precision float32 --layout plain --optimizer loop

First the parts with both threads inside each operation, then whole updates as `drmamba train` does them on a CPU:
threads that share the batch and make their own crops (--lanes), beside a feed that makes crops meanwhile.

Times are the median of the repeats; the smallest beside it tells how much other work disturbed them.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import torch

from drmamba.config import RunConfig, recipe, replace_values
from drmamba.data.dataset import CropDataset
from drmamba.data.dibco import find_pairs
from drmamba.losses.compound import compound
from drmamba.training.feed import Feed, collate
from drmamba.training.lanes import Lanes
from drmamba.training.learner import Batch, Learner
from drmamba.training.start import initial_network

PARTS = ("encoder", "decoder", "block", "reconstruction")
Times = dict[str, list[float]]


def main() -> None:
    arguments = parse()
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
    for count in arguments.lanes:
        values = whole_updates(learner, crops, arguments, count)
        shown = f"{count} lanes" if count > 1 else "a feed beside"
        print(f"{'update with crops, ' + shown:<30} {statistics.median(values):9.3f} {min(values):9.3f}")


def whole_updates(
    learner: Learner, crops: CropDataset, arguments: argparse.Namespace, count: int
) -> list[float]:
    """Seconds of updates with everything in them, as a run does them."""

    def precise() -> AbstractContextManager[object]:
        return torch.autocast("cpu", torch.bfloat16) if arguments.precision == "bfloat16" else nullcontext()

    def forward(network: torch.nn.Module, image: torch.Tensor, **situation: torch.Tensor) -> object:
        with precise():
            return network(image, **situation)

    def losses(network: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        return learner.losses(partial(forward, network), batch)

    lanes = Lanes(learner.network, losses, count) if count > 1 else None
    learner.learn_from = lanes.learn_from if lanes else learner._learn_from
    learner.forward = partial(forward, learner.network)
    feed = Feed(crops, 1000, arguments.crops, lazy=lanes is not None)
    values = [
        timed(lambda step=step: learner.update(step, feed.take(1), 0.5))
        for step in range(arguments.repeats + 2)
    ]
    feed.close()
    if lanes:
        lanes.close()
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
    learner.average.update(repeat + 1)
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
        "--lanes", type=int, nargs="*", default=[1, 2], help="threads that share a batch; 1: none"
    )
    parser.add_argument("--data", help="a folder of years; without it crops are synthetic")
    parser.add_argument("--textures")
    return parser.parse_args()


if __name__ == "__main__":
    main()
