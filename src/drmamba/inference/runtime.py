"""What runs a network for the lanes: torch or ONNX Runtime, behind one small door."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drmamba.config import Precision
from drmamba.errors import BackendError

Windows = NDArray[np.uint8]  # (n, h, w, 3)


class Runtime(ABC):
    """A network ready to be run by several threads at once, each of them a lane."""

    count: int  # lanes
    batch: int = 1  # windows in one call
    devices: list[Any]  # for people to read
    precisions: tuple[Precision, ...] = ("float32",)  # that it can run in here

    @abstractmethod
    def enter(self) -> Any:
        """Make the calling thread a lane; what it returns is handed to `run` on that thread."""

    @abstractmethod
    def run(
        self, lane: Any, windows: Windows, suppress: float, precision: Precision = "float32"
    ) -> NDArray[np.float32]:
        """Probabilities (n, h, w) of as many windows as `batch` says."""

    def check(self, precision: Precision) -> None:
        """Raise if the network cannot run so here."""
        if precision not in self.precisions:
            raise BackendError(
                f"{precision} cannot be used here, with this model or on this hardware; leave it out"
            )

    def entered(self) -> None:  # noqa: B027  most have nothing to do
        """Called once, when every lane has entered."""


def usable_cores() -> int:
    """As many cores as this process may use; OMP_NUM_THREADS lowers it, as it does for torch."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(asked) if asked.isdigit() and int(asked) > 0 else cores
