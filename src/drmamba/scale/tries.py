"""What is remembered about work in hand, so that a lost worker or node costs nothing twice.

A task is a few files. When its worker dies Ray gives the task to another one, which asks here first: files
that were finished keep the records they got, and the rest is done one file at a time, so that one that kills
its worker can be told from those that happened to be beside it. Only unfinished tasks are remembered, so
memory follows the size of the cluster and not of the batch.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Begun:
    """What a worker is told when it begins a task."""

    again: bool  # another worker began it and did not end
    finished: dict[int, str]  # file -> its records, from that worker
    stopped: bool  # nobody waits for the result any more


class Notebook(Protocol):
    """What a worker writes to; on a cluster it lives in a process of its own."""

    def begin(self, files: list[int]) -> Begun:
        """A worker starts on these files."""

    def begin_alone(self, file: int) -> int:
        """A worker starts on this file alone; how often that happened before."""

    def finish(self, file: int, records: str) -> None:
        """A file is done: its records, as JSON."""


class Tries:
    """The notebook itself."""

    def __init__(self) -> None:
        self._begun: set[int] = set()  # tasks, by their first file
        self._alone: Counter[int] = Counter()
        self._finished: dict[int, str] = {}
        self._stopped = False
        self._repeated = 0

    def begin(self, files: list[int]) -> Begun:
        """A worker starts on these files."""
        again = files[0] in self._begun
        self._begun.add(files[0])
        self._repeated += again
        finished = {file: self._finished[file] for file in files if file in self._finished}
        return Begun(again, finished, self._stopped)

    def begin_alone(self, file: int) -> int:
        """A worker starts on this file alone; how often that happened before."""
        self._alone[file] += 1
        return self._alone[file] - 1

    def finish(self, file: int, records: str) -> None:
        """A file is done: its records, as JSON."""
        self._finished[file] = records

    def receive(self, files: list[int]) -> None:
        """Forget files whose records have arrived."""
        for file in files:
            self._begun.discard(file)
            self._alone.pop(file, None)
            self._finished.pop(file, None)

    def stop(self) -> None:
        """From now on nothing new is begun."""
        self._stopped = True

    def repeated(self) -> int:
        """How many tasks were begun again."""
        return self._repeated

    def remembered(self) -> int:
        """How many entries there are."""
        return len(self._begun) + len(self._alone) + len(self._finished)
