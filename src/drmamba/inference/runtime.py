"""What runs a network for the lanes: torch or ONNX Runtime, behind one small door."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Windows = NDArray[np.uint8]  # (n, h, w, 3)


class Runtime(ABC):
    """A network ready to be run by several threads at once, each of them a lane."""

    count: int  # lanes
    batch: int = 1  # windows in one call
    devices: list[Any]  # for people to read

    @abstractmethod
    def enter(self) -> Any:
        """Make the calling thread a lane; what it returns is handed to `run` on that thread."""

    @abstractmethod
    def run(self, lane: Any, windows: Windows, suppress: float) -> NDArray[np.float32]:
        """Probabilities (n, h, w) of as many windows as `batch` says."""

    def entered(self) -> None:  # noqa: B027  most have nothing to do
        """Called once, when every lane has entered."""


def usable_cores() -> int:
    """As many cores as this process may use; OMP_NUM_THREADS lowers it, as it does for torch."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(asked) if asked.isdigit() and int(asked) > 0 else cores
