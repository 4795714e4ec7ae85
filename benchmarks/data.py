"""The milliseconds that a training crop takes, and their share of the training step that uses it.

python benchmarks/data.py [--data ROOT] [--textures DIR] --json

A crop is timed on one core, in processor time, with everything it needs: it is cut or drawn and degraded, and its
targets are made. The step is the forward pass, the loss and the backward pass of the preset `lite` on eight crops, in
the same run.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace

import torch
from torch.utils.data import default_collate

from drmamba.config import DataConfig, LossConfig, preset
from drmamba.data.dataset import CropDataset
from drmamba.data.dibco import find_pairs
from drmamba.losses.compound import compound
from drmamba.model.network import DRMamba

BATCH = 8


def crop_seconds(dataset: CropDataset, count: int) -> float:
    """The mean processor time of a crop over `count` crops, in the best of three rounds."""
    for index in range(count):  # compile, load fonts, fill caches
        dataset[index]
    rounds = []
    for number in range(1, 4):
        start = time.process_time()
        for index in range(number * count, (number + 1) * count):
            dataset[index]
        rounds.append((time.process_time() - start) / count)
    return min(rounds)


def step_seconds(dataset: CropDataset, loss: LossConfig) -> float:
    """The time of forward pass, loss and backward pass of one batch, the best of five."""
    network = DRMamba(preset("lite")).train()
    batch = default_collate([dataset[index] for index in range(BATCH)])
    times = []
    for _ in range(6):
        start = time.perf_counter()
        output = network(batch["image"])
        compound(output.logits, output.auxiliary, batch, loss).total.backward()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="Time crops of this data root, too; without it only synthetic ones.")
    parser.add_argument("--textures", help="Use images of blank paper from this folder.")
    parser.add_argument("--crop", type=int, default=256)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2, help="Run the training step on this many threads.")
    parser.add_argument("--json", action="store_true", help="Print one JSON object.")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)
    loss = LossConfig()
    config = DataConfig(crop=arguments.crop, textures=arguments.textures, synthetic_share=1.0)
    made = CropDataset([], config, loss)
    step = step_seconds(made, loss)
    figures = {"step_ms": step * 1e3}
    sources = {"synthetic": made}
    if arguments.data:
        sources["real"] = CropDataset(find_pairs(arguments.data), replace(config, synthetic_share=0.0), loss)
    for name, dataset in sources.items():
        seconds = crop_seconds(dataset, arguments.count)
        figures[f"{name}_crop_ms"] = seconds * 1e3
        figures[f"{name}_share_of_step"] = BATCH * seconds / step
    if arguments.json:
        print(json.dumps({name: round(value, 4) for name, value in figures.items()}))
        return
    for name, value in figures.items():
        print(f"{name:24s} {value:8.2%}" if "share" in name else f"{name:24s} {value:8.1f}")


if __name__ == "__main__":
    main()
