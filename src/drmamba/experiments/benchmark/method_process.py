"""A method in its own process, so that its memory can be measured and a crash costs one page."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

from drmamba.child_process import ChildProcess
from drmamba.errors import DRMambaError


@dataclass(frozen=True)
class Cost:
    """What one page took."""

    seconds: float  # from pixels in memory to ink in memory
    pixels: int
    memory: int  # bytes, the largest amount that the process has held so far


class MethodError(DRMambaError):
    """A method failed on a page."""


class MethodProcess(ChildProcess):
    """A process that binarizes pages with one method; it is started at the first page and after a crash."""

    def __init__(self, kind: str, source: str, protocol: str) -> None:
        super().__init__("drmamba.experiments.benchmark.method_main", kind, source, protocol)

    def binarize(self, image: Path, output: Path) -> Cost:
        """Binarize a page into a file; raise MethodError with the reason if that fails."""
        process = self.started()
        answer = self.exchange({"image": str(image), "output": str(output)})
        if answer is None:
            status = process.wait()
            self.close()
            raise MethodError(f"the method's process {describe_exit(status)}")
        header, _ = answer
        if "error" in header:
            raise MethodError(header["error"])
        return Cost(**header)


def describe_exit(status: int) -> str:
    """Return how a process ended, as words."""
    if status >= 0:
        return f"ended with status {status}"
    ended = f"was ended by {signal.Signals(-status).name}"
    return f"{ended} (out of memory?)" if status == -signal.SIGKILL else ended
