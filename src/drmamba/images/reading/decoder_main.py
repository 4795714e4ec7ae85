"""The program of the decoding process: it answers requests on standard input with pages on standard output.

Hostile and damaged files are decoded here, where a crash, a hang or an excessive use of memory costs one
file and not the batch. `decoder_process` is the other end. A request is a line of JSON. So is the answer,
which is followed by as many raw bytes as its `size` says.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import warnings
from collections.abc import Iterator
from typing import Any, BinaryIO

from drmamba.config import ReadingConfig
from drmamba.errors import DRMambaError, MemoryLimitError, PixelLimitError
from drmamba.images.reading import FilePage, count_pages, open_pages


class RequestHandler:
    """Answers requests about one file at a time, of which one page is the current one."""

    def __init__(self) -> None:
        self.pages: Iterator[FilePage] = iter(())
        self.page: FilePage | None = None

    def answer(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Return the answer's header and its raw bytes."""
        do = request["do"]
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
        rows = self.page.rows(request["top"], request["bottom"]).tobytes()
        return {"size": len(rows)}, rows


def limit_memory(size: int) -> None:
    """Let allocations fail beyond so many bytes more than are in use; without effect where unsupported."""
    try:
        import resource

        with open("/proc/self/statm") as file:  # noqa: PTH123
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + size, now + size))
    except (ImportError, OSError, ValueError):
        return


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until the other end closes the pipe."""
    handler = RequestHandler()
    for line in requests:
        try:
            header, payload = handler.answer(json.loads(line))
        except PixelLimitError as error:
            header = {"error": str(error), "kind": "pixels", "value": error.value, "limit": error.limit}
            payload = b""
        except MemoryLimitError as error:
            header, payload = {"error": str(error), "kind": "memory"}, b""
        except MemoryError:
            header, payload = {"error": "there is not enough memory for this page", "kind": "memory"}, b""
        except DRMambaError as error:
            header, payload = {"error": str(error)}, b""
        except Exception as error:  # Whatever a damaged file provokes must cost only that file.
            header, payload = {"error": f"{type(error).__name__}: {error}"}, b""
        with contextlib.suppress(BrokenPipeError):
            answers.write(json.dumps(header).encode() + b"\n")
            answers.write(payload)
            answers.flush()


def main() -> None:
    """Run as `python -m drmamba.images.reading.decoder_main MEMORY`, with the memory limit in bytes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent process handles Ctrl-C.
    warnings.simplefilter("ignore")
    limit_memory(int(sys.argv[1]))
    answers, sys.stdout = sys.stdout.buffer, sys.stderr  # Only answers may be written to the pipe.
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
