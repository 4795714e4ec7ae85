"""One protocol for the programs that this package runs as child processes.

A request is a line of JSON on the child's standard input. The answer is a line of JSON on its standard
output, followed by as many raw bytes as the line's `size` says. An answer with an `error` reports a failure.
`ChildProcess` is the parent's end, `serve` the child's. A child ends when its parent does.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, BinaryIO, Self

from drmamba.errors import DRMambaError

Request = dict[str, Any]
Answer = tuple[dict[str, Any], bytes]  # the line of JSON as a dictionary, and the raw bytes after it

# The variables that a private child gets: what Python and its libraries need, and nothing that may hold a secret.
PASSED_ON = (
    "PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "WINDIR", "TEMP", "TMP", "TMPDIR", "LANG", "TZ", "VIRTUAL_ENV",
    "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
)  # fmt: skip
PASSED_ON_PREFIXES = ("PYTHON", "LC_", "NUMBA_")


class ChildProcess:
    """A module run as a process: started by the first request, and again by the first one after its end."""

    def __init__(
        self,
        module: str,
        *arguments: str,
        quiet: bool = False,
        private: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare the process; a `private` one does not inherit variables such as passwords and tokens."""
        # With -P, Python imports nothing from the current folder, which may hold foreign files.
        self._command = [sys.executable, "-P", "-m", module, *arguments]
        self._errors = subprocess.DEVNULL if quiet else None
        self._private, self._environment = private, environment or {}
        self._process: subprocess.Popen[bytes] | None = None
        self._parent = os.getpid()

    def started(self) -> subprocess.Popen[bytes]:
        """Return the process; a new one is started if there is none.

        After a fork, the process belongs to the parent, and the two must not talk to it at the same time.
        """
        if self._parent != os.getpid():
            self._process, self._parent = None, os.getpid()
        if self._process is None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=self._variables(),
            )
        return self._process

    def _variables(self) -> dict[str, str]:
        """Return the environment of the process."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not self._private or name.upper() in PASSED_ON or name.startswith(PASSED_ON_PREFIXES)
        }
        return inherited | dict(self._environment)

    def exchange(self, request: Request) -> Answer | None:
        """Return the answer to a request, or None if the process ended before the answer was complete."""
        process = self.started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if not line.endswith(b"\n"):
                return None
            header: dict[str, Any] = json.loads(line)
            payload = process.stdout.read(header.get("size", 0))
        except OSError:
            return None
        return (header, payload) if len(payload) == header.get("size", 0) else None

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None and self._parent == os.getpid():
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):  # Unsent bytes cannot be flushed to an ended process.
                        pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def describe_error(error: Exception) -> dict[str, Any]:
    """Return the answer that reports an error; an unexpected error is named by its type."""
    expected = isinstance(error, DRMambaError)
    return {"error": str(error) if expected else f"{type(error).__name__}: {error}"}


def serve(
    answer: Callable[[Request], Answer], describe: Callable[[Exception], dict[str, Any]] = describe_error
) -> None:
    """Answer the parent's requests until it closes the pipe; an exception becomes an answer, too.

    A thread reads the requests, so that the process ends in the middle of a long answer, too, if the parent has died.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent process handles Ctrl-C.
    warnings.simplefilter("ignore")
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # Whatever a library prints must not stand between the answers.
        requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=_read_requests, args=(requests,), daemon=True).start()
        while True:
            try:
                header, payload = answer(json.loads(requests.get()))
            except Exception as error:  # Whatever one request provokes must cost only that request.
                header, payload = describe(error), b""
            with contextlib.suppress(BrokenPipeError):
                _send(answers, header, payload)


def _read_requests(requests: queue.SimpleQueue[bytes]) -> None:
    """Pass on the parent's requests, and end the process when there can be no more."""
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)


def _send(answers: BinaryIO, header: dict[str, Any], payload: bytes) -> None:
    answers.write(json.dumps({**header, "size": len(payload)} if payload else header).encode() + b"\n")
    answers.write(payload)
    answers.flush()
