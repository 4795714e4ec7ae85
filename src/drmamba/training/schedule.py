"""The progress of a run and its learning rate, both of which depend only on what a checkpoint holds."""

from __future__ import annotations

import math
import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from drmamba.config import TrainConfig

PAUSE = 5.0  # a step this many times longer than the median was interrupted by a pause of the machine
RECENT = 31  # latest durations that the median is taken over


def rate_factor(progress: float, config: TrainConfig) -> float:
    """The factor of the peak learning rate at `progress` in [0, 1]: linear warm-up, then cosine decay."""
    if progress < config.warmup:
        return max(progress / config.warmup, 0.01)
    rest = min((progress - config.warmup) / (1 - config.warmup), 1.0)
    return config.final_rate + (1 - config.final_rate) * (1 + math.cos(math.pi * rest)) / 2


@dataclass(frozen=True)
class Plan:
    """The length of a run in updates, in active seconds, or in both, of which the first to be reached ends it."""

    steps: int | None
    seconds: float | None

    @classmethod
    def of(cls, config: TrainConfig, pages: int, devices: int = 1) -> Plan:
        """The minutes or steps of the config if they are set, else its epochs over that many pages."""
        seconds = config.max_minutes * 60 or None
        if config.steps or seconds:
            return cls(config.steps or None, seconds)
        crops = config.epochs * config.crops_per_page * pages
        return cls(math.ceil(crops / (config.batch * config.accumulation * devices)), None)

    def progress(self, step: int, seconds: float) -> float:
        """The progress, from 0 to 1, after `step` updates and that many active seconds."""
        by_steps = step / self.steps if self.steps else 0.0
        by_time = seconds / self.seconds if self.seconds else 0.0
        return min(max(by_steps, by_time), 1.0)

    def seconds_left(self, step: int, seconds: float) -> float | None:
        """The remaining active seconds at the speed so far; None at the very start."""
        progress = self.progress(step, seconds)
        return seconds * (1 - progress) / progress if progress > 0 else None


class ActiveClock:
    """Counts active seconds; pauses, as of a stopped process or a sleeping laptop, do not count.

    >>> times = iter([0.0, 1.0, 2.0, 3.0, 1003.0, 1004.0])
    >>> clock = ActiveClock(now=lambda: next(times))
    >>> for _ in range(5):
    ...     clock.tick("step")
    >>> clock.seconds
    5.0
    """

    def __init__(self, seconds: float = 0.0, now: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._now = seconds, now
        self._recent: dict[str, deque[float]] = {}
        self._spent: dict[str, float] = {}
        self._mark = now()

    def tick(self, kind: str, work: float = 1.0) -> float:
        """Add the time since the last tick and return it; durations of one kind are compared per unit of `work`."""
        now = self._now()
        duration, self._mark = now - self._mark, now
        recent = self._recent.setdefault(kind, deque(maxlen=RECENT))
        if len(recent) >= 3:
            expected = statistics.median(recent) * work
            if duration > PAUSE * expected:
                duration = expected
        recent.append(duration / work)
        self.seconds += duration
        self._spent[kind] = self.spent(kind) + duration
        return duration

    def skip(self) -> None:
        """Do not count the time since the last tick."""
        self._mark = self._now()

    def spent(self, kind: str) -> float:
        """The active seconds of that kind since this clock was made."""
        return self._spent.get(kind, 0.0)
