"""The settings of comparisons with classical methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drmamba.config.base import Config


@dataclass(frozen=True, kw_only=True)
class ClassicalConfig(Config):
    """A classical method's settings; None: it has none, or its library's own are used."""

    window: int | None = None
    k: float | None = None


# The first eight as in the comparisons that the metrics were checked against.
CLASSICAL: dict[str, ClassicalConfig] = {
    "otsu": ClassicalConfig(),
    "sauvola": ClassicalConfig(window=75, k=0.2),
    "gatos": ClassicalConfig(),
    "su": ClassicalConfig(),  # the paper's RDD
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
    """What `drmamba benchmark` does unless told otherwise."""

    methods: tuple[str, ...] = ("otsu", "sauvola", "gatos", "su", "drmamba")
    output: str = "drmamba-benchmark"  # folder of the reports and of what a later run goes on from
    model: str = "lite"
    protocol: Literal["everyday", "paper"] = "everyday"
