"""How much of the files in progress is done: page threads say so, and a progress bar asks for it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from drmamba.images import RGB
from drmamba.inference.tiling import Predict, Probability

WindowWatch = Callable[[int, int], object]  # is told how many windows of how many are done


class PageProgress:
    """The shares of all files in progress."""

    def __init__(self) -> None:
        self._shares: dict[Path, float] = {}
        self._lock = threading.Lock()

    @property
    def files(self) -> float:
        """The work done on unfinished files, in files: half of one and a quarter of another are 0.75."""
        with self._lock:
            return sum(self._shares.values())

    @contextlib.contextmanager
    def file(self, source: Path) -> Iterator[None]:
        """Count a file as long as it is in progress."""
        try:
            yield
        finally:
            with self._lock:
                self._shares.pop(source, None)

    def page(self, source: Path, number: int, pages: int) -> WindowWatch:
        """Return what is to be told about the windows of a page, which is counted from 1."""

        def watch(done: int, windows: int) -> None:
            with self._lock:
                self._shares[source] = (number - 1 + done / max(windows, 1)) / pages

        watch(0, 1)
        return watch


def watched(predict: Predict, windows: int, watch: WindowWatch) -> Predict:
    """Return the prediction, which tells `watch` about every window that is done, of so many."""

    def stream(given: Iterator[RGB]) -> Iterator[Probability]:
        for number, found in enumerate(predict(given), 1):
            watch(number, windows)
            yield found

    return stream
