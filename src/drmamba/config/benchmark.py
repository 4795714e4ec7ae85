"""The settings of comparisons with classical methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drmamba.config.base import Config
from drmamba.config.model import DEFAULT_MODEL


@dataclass(frozen=True, kw_only=True)
class ClassicalConfig(Config):
    """A classical method's settings; None means that it has none, or that the library's default is used."""

    window: int | None = None  # pixels, side of the local window
    k: float | None = None  # weight of the local standard deviation


# The first eight have the settings of the comparisons that the metrics were checked against.
CLASSICAL: dict[str, ClassicalConfig] = {
    "otsu": ClassicalConfig(),
    "sauvola": ClassicalConfig(window=75, k=0.2),
    "gatos": ClassicalConfig(),
    "su": ClassicalConfig(),  # called RDD in the paper
    "wolf": ClassicalConfig(window=75, k=0.2),
    "wan": ClassicalConfig(window=75, k=0.2),
    "nick": ClassicalConfig(window=75, k=-0.2),
    "isauvola": ClassicalConfig(window=15, k=0.01),
    "niblack": ClassicalConfig(),
    "bernsen": ClassicalConfig(),
    "trsingh": ClassicalConfig(),
    "bataineh": ClassicalConfig(),
}


@dataclass(frozen=True, kw_only=True)
class BenchmarkConfig(Config):
    """The defaults of `drmamba benchmark`."""

    methods: tuple[str, ...] = ("otsu", "sauvola", "gatos", "su", "drmamba")
    output: str = "drmamba-benchmark"  # folder of the reports, and of results to resume from
    model: str = DEFAULT_MODEL
    protocol: Literal["default", "paper"] = "default"
