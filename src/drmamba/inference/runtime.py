"""What runs a network for the lanes: torch or ONNX Runtime, behind one small door."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drmamba.config import KEPT, Convention, Keep, Precision
from drmamba.errors import BackendError, CheckpointError

Windows = NDArray[np.uint8]  # (n, h, w, 3)
Places = NDArray[np.float32]  # (n, 2): top and left of each window on its page
Reduced = NDArray[np.uint8]  # (h, w, 3): a whole page, reduced


class Runtime(ABC):
    """A network ready to be run by several threads at once, each of them a lane."""

    count: int  # lanes
    batch: int = 1  # windows in one call
    devices: list[Any]  # for people to read
    precisions: tuple[Precision, ...] = ("float32",)  # that it can run in here
    context: int = 0  # how many times the page is to be reduced for `look`; 0: windows stand alone
    conventions: tuple[Convention, ...] = ()  # of ink, that the network can be asked for

    @abstractmethod
    def enter(self) -> Any:
        """Make the calling thread a lane; what it returns is handed to `run` on that thread."""

    @abstractmethod
    def run(
        self,
        lane: Any,
        windows: Windows,
        suppress: float,
        precision: Precision = "float32",
        *,
        convention: int = 0,
        page: Any = None,
        places: Places | None = None,
    ) -> NDArray[np.float32]:
        """Probabilities (n, h, w) of as many windows as `batch` says.

        `convention` is the place of the one asked for among the runtime's; `page` is what `look` found on the page
        that the windows lie on, and `places` says where.
        """

    def look(self, lane: Any, reduced: Reduced) -> Any:  # noqa: ARG002  most have no context
        """What the network finds on the reduced page, for `run`."""
        return None

    def convention(self, keep: Keep) -> int:
        """The place of a convention among the network's; raises where it knows the contests' only."""
        wanted = KEPT[keep]
        if wanted in self.conventions:
            return self.conventions.index(wanted)
        if keep != "text":
            raise CheckpointError(
                f"this model knows text only and cannot be asked for --keep {keep}; "
                "use a model that was trained for both"
            )
        return 0

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
