"""What the worker pool asks of a runtime; torch and ONNX Runtime each provide it."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drmamba.config import KEPT, Convention, Keep, ModelConfig, Precision
from drmamba.errors import BackendError, InputError

Windows = NDArray[np.uint8]  # (n, h, w, 3)
Places = NDArray[np.float32]  # (n, 2): top and left of each window on its page
ReducedPage = NDArray[np.uint8]  # (h, w, 3): a whole page, reduced


@dataclass(frozen=True)
class ExplainedWindow:
    """The probability of one window, and the maps of the dual-route block that led to it."""

    probability: NDArray[np.float32]  # (h, w)
    # D, B, beta and beta * B at suppress = 1, each the mean over the channels: (4, h, w) at the block's stride.
    means: NDArray[np.float32]
    routes: Any = None  # what `Runtime.fuse` continues from; None if only the whole network can be run again
    bytes: int = 0  # bytes that the routes take


class Runtime(ABC):
    """A network that several worker threads run at once."""

    program_bytes: int = 440_000_000  # bytes; Python, the runtime's library and the network
    worker_bytes: int = 125_000_000  # bytes; one window of 512 under way
    count: int  # worker threads
    batch: int = 1  # windows in one call
    devices: list[Any]  # where the network runs, for people to read
    precisions: tuple[Precision, ...] = (
        "float32",
    )  # the precisions in which it can run here; auto is the first
    context: int = 0  # by how much a page is reduced for `see_page`; 0 if windows stand alone
    conventions: tuple[Convention, ...] = ()  # the ink conventions that the network knows
    model: ModelConfig = ModelConfig()  # the network's settings; the defaults for a network of another kind

    @abstractmethod
    def enter(self) -> Any:
        """Prepare the calling thread as a worker; `run` gets what this returns on the same thread."""

    @abstractmethod
    def run(
        self,
        network: Any,
        windows: Windows,
        suppress: float,
        precision: Precision = "float32",
        *,
        convention: int = 0,
        page: Any = None,
        places: Places | None = None,
    ) -> NDArray[np.float32]:
        """Return the probabilities (n, h, w) of as many windows as `batch` says.

        `network` is what `enter` returned. `convention` is an index into `conventions`. `page` is what `see_page`
        returned for the page that the windows lie on, and `places` says where they lie.
        """

    def explain(
        self,
        network: Any,
        window: NDArray[np.uint8],  # noqa: ARG002
        suppress: float,  # noqa: ARG002
        *,
        convention: int = 0,  # noqa: ARG002
        page: Any = None,  # noqa: ARG002
        place: tuple[int, int] | None = None,  # noqa: ARG002
    ) -> ExplainedWindow:
        """Return the probability of one window (h, w, 3) together with the maps of the block."""
        raise InputError(
            f"only a DRMamba network can explain itself, not a {type(network).__name__}; "
            "give a model that drmamba wrote"
        )

    def fuse(self, network: Any, routes: Any, suppress: float) -> NDArray[np.float32]:
        """Return the probability of a window for another `suppress`, from the routes that `explain` returned."""
        raise NotImplementedError

    def see_page(self, network: Any, reduced: ReducedPage) -> Any:  # noqa: ARG002  most have no context
        """Return what the network finds on the reduced page, for `run`."""
        return None

    def convention(self, keep: Keep) -> int:
        """Return the index of a convention, which is the first one for a network that knows no other.

        What such a network leaves out is restored after it (`drmamba.inference.restoring`).
        """
        wanted = KEPT[keep]
        return self.conventions.index(wanted) if wanted in self.conventions else 0

    def precision(self, asked: Precision) -> Precision:
        """Return the precision in which the network runs; raises if it cannot run in the one that is asked for."""
        if asked == "auto":
            return self.precisions[0]
        if asked not in self.precisions:
            raise BackendError(
                f"{asked} cannot be used here, with this model or on this hardware; there is "
                f"{', '.join(self.precisions)}"
            )
        return asked

    def entered(self) -> None:  # noqa: B027  most have nothing to do
        """Do what remains when every worker has entered; called once."""


def usable_cores() -> int:
    """Return how many cores this process may use; OMP_NUM_THREADS lowers the number, as it does for torch."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(asked) if asked.isdigit() and int(asked) > 0 else cores
