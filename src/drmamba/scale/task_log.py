"""What is remembered about tasks under way, so that nothing is done twice when a worker or a node is lost.

A task is a few files. When its worker dies, Ray gives the task to another worker, which asks here first: files that
were finished keep their records, and the others are converted one at a time, so that a file that kills its worker can
be distinguished from those that happened to be in the same task. Only unfinished tasks are remembered, so memory grows
with the size of the cluster and not with that of the batch.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class TaskStart:
    """What a worker receives when it starts a task."""

    repeated: bool  # whether another worker started the task and did not finish it
    finished: dict[int, str]  # file -> its records, from that worker
    stopped: bool  # whether nobody waits for the result any more


class TaskLog(Protocol):
    """What a worker writes to; on a cluster it is a handle of a ledger in another process."""

    def start(self, files: list[int]) -> TaskStart:
        """Note that a worker starts a task of these files."""

    def start_alone(self, file: int) -> int:
        """Note that a worker starts this file alone; return how often that happened before."""

    def finish(self, file: int, records: str) -> None:
        """Store the records of a finished file, as JSON."""


class TaskLedger:
    """The tasks under way and the records of their finished files."""

    def __init__(self) -> None:
        self._started: set[int] = set()  # tasks, by their first file
        self._alone: Counter[int] = Counter()
        self._finished: dict[int, str] = {}
        self._stopped = False
        self._repeated = 0

    def start(self, files: list[int]) -> TaskStart:
        """Note that a worker starts a task of these files."""
        repeated = files[0] in self._started
        self._started.add(files[0])
        self._repeated += repeated
        finished = {file: self._finished[file] for file in files if file in self._finished}
        return TaskStart(repeated, finished, self._stopped)

    def start_alone(self, file: int) -> int:
        """Note that a worker starts this file alone; return how often that happened before."""
        self._alone[file] += 1
        return self._alone[file] - 1

    def finish(self, file: int, records: str) -> None:
        """Store the records of a finished file, as JSON."""
        self._finished[file] = records

    def receive(self, files: list[int]) -> None:
        """Forget files whose records have arrived."""
        for file in files:
            self._started.discard(file)
            self._alone.pop(file, None)
            self._finished.pop(file, None)

    def stop(self) -> None:
        """Let no further task start."""
        self._stopped = True

    def repeated(self) -> int:
        """Return how many tasks were started again."""
        return self._repeated
