"""The settings of where and how the network runs, on one machine or on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drmamba.config.base import Config


@dataclass(frozen=True, kw_only=True)
class EngineConfig(Config):
    """Where and how the network runs; none of it changes a result."""

    device: str = "auto"  # auto, cpu, cuda, cuda:1, ...
    runtime: Literal["auto", "torch", "onnx"] = "auto"  # auto: onnx for .onnx files, else torch
    workers: int = 0  # windows under way at once on the CPU; 0: one a core
    batch: int = 8  # windows in one call to a GPU
    max_memory: int = 2_000_000_000  # bytes, of all processes together

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("workers", self.workers >= 0, "0 or more")
        self.require("batch", self.batch >= 1, "1 or more")
        self.require("max_memory", self.max_memory >= 100_000_000, "100 MB or more")


@dataclass(frozen=True, kw_only=True)
class ScaleConfig(Config):
    """A batch on a Ray cluster; none of it changes a result."""

    address: str = "auto"  # of the cluster: auto, local (a new one on this machine) or HOST[:PORT]
    files: int = (
        16  # in one task, at most: what a lost worker has to do again, and what one waits for at the end
    )
    tries: int = 3  # of a file that ends its worker, before it is given up
    rounds: int = 3  # in a row without a single finished file, before the cluster is given up

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("files", "tries", "rounds"):
            self.require(name, getattr(self, name) >= 1, "1 or more")
