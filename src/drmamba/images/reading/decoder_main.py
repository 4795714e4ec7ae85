"""The program of the decoding process: it answers requests on standard input with pages on standard output.

Hostile and damaged files are decoded here, where a crash, a hang or an excessive use of memory costs one
file and not the batch. `decoder_process` is the other end, and `child_process` the protocol between them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drmamba.child_process import Answer, Request, describe_error, serve
from drmamba.config import ReadingConfig
from drmamba.errors import MemoryLimitError, PixelLimitError
from drmamba.images.reading import FilePage, count_pages, open_pages
from drmamba.images.record import read_record


class RequestHandler:
    """Answers requests about one file at a time, of which one page is the current one."""

    def __init__(self) -> None:
        self.pages: Iterator[FilePage] = iter(())
        self.page: FilePage | None = None

    def answer(self, request: Request) -> Answer:
        """Return the answer's header and its raw bytes."""
        do = request["do"]
        if do == "record":
            return {"record": read_record(Path(request["path"]))}, b""
        if do == "open":
            config = ReadingConfig(max_pixels=request["max_pixels"], dpi=request["dpi"])
            self.page = None
            self.pages = open_pages(request["path"], config, memory=request["memory"])
            return {"pages": count_pages(request["path"])}, b""
        if do == "next":
            self.page = next(self.pages, None)
            if self.page is None:
                return {}, b""
            page = self.page
            return {
                "height": page.height,
                "width": page.width,
                "dpi": page.dpi,
                "memory": page.decode_bytes(),
            }, b""
        assert self.page is not None
        if do == "decode":
            self.page.decode()
            return {}, b""
        return {}, self.page.rows(request["top"], request["bottom"]).tobytes()


def limit_memory(size: int) -> None:
    """Let allocations fail beyond so many bytes more than are in use; without effect where unsupported."""
    try:
        import resource

        with open("/proc/self/statm") as file:  # noqa: PTH123
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + size, now + size))
    except (ImportError, OSError, ValueError):
        return


def describe_failure(error: Exception) -> dict[str, Any]:
    """Return the answer that reports an error; limits keep their kind and their numbers."""
    if isinstance(error, PixelLimitError):
        return {"error": str(error), "kind": "pixels", "value": error.value, "limit": error.limit}
    if isinstance(error, MemoryLimitError):
        return {"error": str(error), "kind": "memory"}
    if isinstance(error, MemoryError):
        return {"error": "there is not enough memory for this page", "kind": "memory"}
    return describe_error(error)


def main() -> None:
    """Run as `python -m drmamba.images.reading.decoder_main MEMORY`, with the memory limit in bytes."""
    limit_memory(int(sys.argv[1]))
    serve(RequestHandler().answer, describe_failure)


if __name__ == "__main__":
    main()
