"""A method in a process of its own, so that its memory is its own and a crash costs one page.

Requests and answers are lines of JSON. `python -m drmamba.experiments.worker KIND SOURCE PROTOCOL` is the
inner end, `Worker` the outer one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from drmamba.config import PROTOCOLS
from drmamba.errors import DRMambaError

Binarize = Callable[[NDArray[np.uint8]], NDArray[np.bool_]]


@dataclass(frozen=True)
class Cost:
    """What one page took."""

    seconds: float  # from pixels in memory to ink in memory
    pixels: int
    memory: int  # bytes, the most the process ever held up to now


class WorkerError(DRMambaError):
    """A method failed on a page."""


class Worker:
    """Starts the process at the first page, and anew after a crash."""

    def __init__(self, kind: str, source: str, protocol: str) -> None:
        self._command = [sys.executable, "-P", "-m", "drmamba.experiments.worker", kind, source, protocol]
        self._process: subprocess.Popen[str] | None = None

    def binarize(self, image: Path, output: Path) -> Cost:
        """Binarize a page into a file; raise WorkerError with the reason if that fails."""
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            requests.write(json.dumps({"image": str(image), "output": str(output)}) + "\n")
            requests.flush()
            line = answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            status = self._process.wait()
            self.close()
            raise WorkerError(f"the method's process {died(status)}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return Cost(**answer)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def peak_memory() -> int:
    """The most memory, in bytes, that this process ever held.

    getrusage would do, but on Linux its figure includes that of the process this one was started from.
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


def died(status: int) -> str:
    """How a process ended, in words."""
    if status >= 0:
        return f"ended with status {status}"
    ended = f"was ended by {signal.Signals(-status).name}"
    return f"{ended} (out of memory?)" if status == -signal.SIGKILL else ended


def load(kind: str, source: str, protocol: str) -> Binarize:
    """The method as a function of RGB pixels."""
    if kind == "classical":
        from drmamba.experiments.baselines import binarize, grey

        return lambda rgb: binarize(source, grey(rgb))
    from drmamba.inference.binarizer import Binarizer

    binarizer = Binarizer.from_pretrained(source, config=PROTOCOLS[protocol])
    return lambda rgb: binarizer(rgb).binary


def answer(method: Binarize, request: dict[str, Any]) -> dict[str, Any]:
    """Binarize one page and say what it took."""
    from drmamba.images import read_rgb, write_ink

    rgb = read_rgb(request["image"])
    start = time.perf_counter()
    ink = method(rgb)
    seconds = time.perf_counter() - start
    memory = peak_memory()  # before the result is written: that is not the method's doing
    write_ink(request["output"], ink)
    return {"seconds": seconds, "pixels": int(ink.size), "memory": memory}


def main() -> None:
    """Answer requests until the other end goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not stand between the answers
    method: Binarize | None = None
    for line in sys.stdin:
        try:
            if method is None:
                method = load(*sys.argv[1:4])
                # One untimed page: compiling and first allocations are not what a method costs.
                method(np.random.default_rng(0).integers(0, 256, (256, 256, 3), np.uint8))
            reply = answer(method, json.loads(line))
        except DRMambaError as error:
            reply = {"error": str(error)}
        except Exception as error:  # one page must not end the run, whatever a method throws
            reply = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
