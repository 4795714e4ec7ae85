"""Scoring a network on whole pages, as users will run it: sliding windows through the Binarizer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from drmamba.config import PROTOCOLS, EngineConfig, InferenceConfig, WindowConfig, replace_values
from drmamba.images import Ink, write_ink
from drmamba.inference.binarizer import Binarizer
from drmamba.metrics import count, score, summarize
from drmamba.metrics.counts import f_measure
from drmamba.model.fuse import fused
from drmamba.model.network import DRMamba
from drmamba.training.material import ExamPage

# Held-out years are scored as the paper does; validation takes larger strides, at a third of the cost.
FINAL = PROTOCOLS["paper"]
WATCH = replace_values(FINAL, {"windows": WindowConfig()})


def binarized(
    network: DRMamba, pages: Iterable[ExamPage], config: InferenceConfig, device: str
) -> Iterator[tuple[ExamPage, Ink, Ink]]:
    """Each page with the network's ink and the true one."""
    with Binarizer(fused(network), config=config, engine=EngineConfig(device=device)) as binarizer:
        for page in pages:
            image, truth = page.read()
            yield page, binarizer(image).binary, truth


def mean_fm(network: DRMamba, pages: Iterable[ExamPage], device: str = "cpu") -> Iterator[tuple[float, int]]:
    """After each page the mean FM so far, and the pixels it took."""
    values = []
    for _, found, truth in binarized(network, pages, WATCH, device):
        values.append(f_measure(count(found, truth)))
        yield float(np.mean(values)), truth.size


def final_scores(
    network: DRMamba,
    pages: Iterable[ExamPage],
    folder: Path | None = None,
    device: str = "cpu",
    config: InferenceConfig = FINAL,
) -> dict[str, Any]:
    """The contest's scores of every page and their mean; the binarized pages go to `folder`."""
    scored = []
    for page, found, truth in binarized(network, pages, config, device):
        scored.append((page, score(found, truth)))
        if folder is not None:
            write_ink(folder / f"{page.name}.png", found)
    rows = [{"year": page.year, "name": page.name, **asdict(scores)} for page, scores in scored]
    return {"mean": summarize([scores for _, scores in scored]).mean, "pages": rows}
