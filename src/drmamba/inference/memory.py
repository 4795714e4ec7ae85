"""The memory of a batch: what the program and its workers take, what a page takes, and a ledger of what is held."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from drmamba.config import InferenceConfig
from drmamba.errors import ConfigError, MemoryLimitError
from drmamba.images.writing.g4 import STRIP_PIXELS
from drmamba.inference.analysis.page import MAX_GREY
from drmamba.inference.runtime.base import Runtime
from drmamba.inference.view import largest_zoom

# Resident bytes, measured with benchmarks/memory.py and rounded up; a runtime says what it takes itself.
DECODER_BYTES = 55_000_000  # bytes; an idle decoding process
LINE_BYTES = 26  # bytes per pixel under a line of windows: RGB read and cut, probabilities blended and masked
WITNESS_BYTES = (
    24  # bytes per pixel of the reduced page in grey: the page, its structures and what is compared
)
PAGE_BYTES = 10_000_000  # bytes; what any page takes, however small
PAGE_SHARE = 0.9  # of the memory that is left; this much of it goes to pages
MIN_PAGE_MEMORY = 150_000_000  # bytes; a batch that leaves less for its pages is refused


def page_threads(workers: int) -> int:
    """Return how many files are under way at once: enough that workers never wait for a disk or a decoder."""
    return 1 + (workers + 1) // 2


def fixed_memory(workers: int, config: InferenceConfig, runtime: type[Runtime] | Runtime) -> int:
    """Return what a batch takes beside its pages, in bytes."""
    window = max(1.0, (config.windows.window / 512) ** 2)
    network = runtime.program_bytes + int(workers * runtime.worker_bytes * window)
    return network + page_threads(workers) * DECODER_BYTES


def page_memory(
    workers: int, config: InferenceConfig, max_memory: int, runtime: type[Runtime] | Runtime = Runtime
) -> int:
    """Return what is left for pages, in bytes; if it is too little, the error says how much is needed."""
    fixed = fixed_memory(workers, config, runtime)
    if max_memory - fixed < MIN_PAGE_MEMORY:
        least = (fixed + MIN_PAGE_MEMORY) / 1e6
        raise ConfigError(f"--max-memory must be at least {least:,.0f}MB with {workers} workers")
    return int((max_memory - fixed) * PAGE_SHARE)


def fitting_workers(
    cores: int, max_memory: int, config: InferenceConfig, runtime: type[Runtime] | Runtime = Runtime
) -> int:
    """Return as many workers as there are cores, or as the memory allows with a third of it left for pages."""
    fitting = (n for n in range(1, cores + 1) if fixed_memory(n, config, runtime) <= max_memory * 2 // 3)
    return max(fitting, default=1)


def estimate_page(
    height: int, width: int, decode_bytes: int, config: InferenceConfig, *, soft: bool = False
) -> int:
    """Return what a page takes: decoding it, the rows under its windows, and its result while that is encoded."""
    pixels = width * height
    zoom = largest_zoom(height, width) if config.scale == "auto" else max(1.0, config.scale)
    line = int(width * zoom * min(height * zoom, config.windows.window)) * LINE_BYTES
    result = pixels // 4 + min(pixels, STRIP_PIXELS) + (pixels if soft else 0)
    witness = min(pixels, MAX_GREY) * (WITNESS_BYTES if config.witness or config.find_pictures else 1)
    # The witness works when the windows have been seen.
    return decode_bytes + max(line, witness) + result + PAGE_BYTES


class MemoryLedger:
    """Memory that pages hold; a page that needs more than is left waits until others are done."""

    def __init__(self, total: int) -> None:
        self.total = self._left = total
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def hold(self, size: int, path: Path) -> Iterator[None]:
        """Hold so much memory for a file; more than there can ever be is an error."""
        if size > self.total:
            needs, has = f"{size / 1e6:,.0f} MB", f"{self.total / 1e6:,.0f} MB"
            words = f"{path} needs about {needs} of memory, pages may take {has}"
            raise MemoryLimitError(words, size, self.total)
        with self._changed:
            self._changed.wait_for(lambda: self._left >= size)
            self._left -= size
        try:
            yield
        finally:
            with self._changed:
                self._left += size
                self._changed.notify_all()
