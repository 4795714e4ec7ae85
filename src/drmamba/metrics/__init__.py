"""The contest's scores as the contest computes them: FM, p-FM, PSNR, DRD and their components."""

from __future__ import annotations

from drmamba.metrics.counts import Counts, count
from drmamba.metrics.pseudo import skeleton_f_measure
from drmamba.metrics.scores import DEFINITIONS, MEANS, NAMES, VERSION, Scores, Summary, score, summarize
from drmamba.metrics.weight_files import read_weights, stored_weights, write_weights
from drmamba.metrics.weights import Weights, weight_maps

__all__ = [
    "Counts",
    "DEFINITIONS",
    "MEANS",
    "NAMES",
    "Scores",
    "Summary",
    "VERSION",
    "Weights",
    "count",
    "read_weights",
    "score",
    "skeleton_f_measure",
    "stored_weights",
    "summarize",
    "weight_maps",
    "write_weights",
]
