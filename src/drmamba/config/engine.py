"""The settings that say where and how the network runs, on one machine or on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drmamba.config.base import Config


@dataclass(frozen=True, kw_only=True)
class EngineConfig(Config):
    """Where and how the network runs; none of these settings changes a result."""

    device: str = "auto"  # auto, cpu, cuda, cuda:1, ...
    # The library that runs the network; auto uses torch for .safetensors files and on its GPUs.
    runtime: Literal["auto", "torch", "onnx"] = "auto"
    workers: int = 0  # windows that the CPU works on at the same time; 0 stands for one per core
    batch: int = 8  # windows in one call to a GPU
    max_memory: int = 2_000_000_000  # bytes, for all processes together

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require("workers", self.workers >= 0, "0 or more")
        self.require("batch", self.batch >= 1, "1 or more")
        self.require("max_memory", self.max_memory >= 100_000_000, "100 MB or more")


@dataclass(frozen=True, kw_only=True)
class ScaleConfig(Config):
    """How a batch runs on a Ray cluster; none of these settings changes a result."""

    address: str = "auto"  # address of the cluster: auto, HOST[:PORT], or local to start one here
    # The largest number of files in one task: if a worker is lost, as many are repeated.
    files: int = 16
    tries: int = 3  # attempts at a file that ends its worker, before the file is given up
    rounds: int = 3  # consecutive rounds without a finished file, after which the cluster is given up

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("files", "tries", "rounds"):
            self.require(name, getattr(self, name) >= 1, "1 or more")
