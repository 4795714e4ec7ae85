"""The program of a method's process: it binarizes the pages that `method_process` asks for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drmamba.child_process import Answer, Request, serve
from drmamba.config import PROTOCOLS

Binarize = Callable[[NDArray[np.uint8]], NDArray[np.bool_]]


class MethodHandler:
    """Binarizes pages with one method, which is loaded at the first request."""

    def __init__(self, kind: str, source: str, protocol: str) -> None:
        self._source = kind, source, protocol
        self._method: Binarize | None = None

    def answer(self, request: Request) -> Answer:
        """Binarize one page and return what it took."""
        from drmamba.images import read_rgb, write_ink

        if self._method is None:
            self._method = load(*self._source)
            # One page is not timed: a method's cost does not include compiling and first allocations.
            self._method(np.random.default_rng(0).integers(0, 256, (256, 256, 3), np.uint8))
        rgb = read_rgb(request["image"])
        start = time.perf_counter()
        ink = self._method(rgb)
        seconds = time.perf_counter() - start
        memory = peak_memory()  # Writing the result, which follows, is not part of the method.
        write_ink(request["output"], ink)
        return {"seconds": seconds, "pixels": int(ink.size), "memory": memory}, b""


def load(kind: str, source: str, protocol: str) -> Binarize:
    """Return the method as a function of RGB pixels."""
    if kind == "classical":
        from drmamba.experiments.baselines import binarize, grey

        return lambda rgb: binarize(source, grey(rgb))
    from drmamba.inference.binarizer import Binarizer

    binarizer = Binarizer.from_pretrained(source, config=PROTOCOLS[protocol])
    return lambda rgb: binarizer(rgb).binary


def peak_memory() -> int:
    """Return the largest amount of memory, in bytes, that this process has held.

    On Linux the figure of getrusage includes that of the process from which this one was started.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


if __name__ == "__main__":
    serve(MethodHandler(*sys.argv[1:4]).answer)
