"""Scores of a network on whole pages, binarized in sliding windows as users will run it."""

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
from drmamba.training.run_data import EvaluationPage

# Held-out years are scored with the paper's protocol; validation uses larger strides, at a third of the cost.
FINAL_CONFIG = PROTOCOLS["paper"]
VALIDATION_CONFIG = replace_values(FINAL_CONFIG, {"windows": WindowConfig(window=512, stride=448)})


def binarized(
    network: DRMamba, pages: Iterable[EvaluationPage], config: InferenceConfig, device: str
) -> Iterator[tuple[EvaluationPage, Ink, Ink]]:
    """Each page with the predicted ink and the ground truth."""
    with Binarizer(fused(network), config=config, engine=EngineConfig(device=device)) as binarizer:
        for page in pages:
            image, truth = page.read()
            yield page, binarizer(image).binary, truth


def mean_fm(
    network: DRMamba, pages: Iterable[EvaluationPage], device: str = "cpu"
) -> Iterator[tuple[float, int]]:
    """After each page, the mean FM so far and the number of pixels of the page."""
    values = []
    for _, found, truth in binarized(network, pages, VALIDATION_CONFIG, device):
        values.append(f_measure(count(found, truth)))
        yield float(np.mean(values)), truth.size


def final_scores(
    network: DRMamba,
    pages: Iterable[EvaluationPage],
    folder: Path | None = None,
    device: str = "cpu",
    config: InferenceConfig = FINAL_CONFIG,
) -> dict[str, Any]:
    """The contest's scores of every page and their mean; binarized pages are written to `folder` if it is given."""
    scored = []
    for page, found, truth in binarized(network, pages, config, device):
        scored.append((page, score(found, truth)))
        if folder is not None:
            write_ink(folder / f"{page.name}.png", found)
    rows = [{"year": page.year, "name": page.name, **asdict(scores)} for page, scores in scored]
    return {"mean": summarize([scores for _, scores in scored]).mean, "pages": rows}
