"""How far a run is, and the learning rate there: both depend on nothing but what a checkpoint holds."""

from __future__ import annotations

import math
import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from drmamba.config import TrainConfig

PAUSE = 5.0  # a step this many times longer than the usual one was a pause of the machine, not work
RECENT = 31  # durations that tell what is usual


def rate_factor(progress: float, config: TrainConfig) -> float:
    """The share of the largest learning rate at `progress` in [0, 1]: a linear rise, then half a cosine."""
    if progress < config.warmup:
        return max(progress / config.warmup, 0.01)
    rest = min((progress - config.warmup) / (1 - config.warmup), 1.0)
    return config.final_rate + (1 - config.final_rate) * (1 + math.cos(math.pi * rest)) / 2


@dataclass(frozen=True)
class Plan:
    """The end of a run: after so many updates, so many active seconds, or whichever comes first."""

    steps: int | None
    seconds: float | None

    @classmethod
    def of(cls, config: TrainConfig, pages: int, devices: int = 1) -> Plan:
        """Minutes or steps if they are set, else the epochs over that many pages."""
        seconds = config.max_minutes * 60 or None
        if config.steps or seconds:
            return cls(config.steps or None, seconds)
        crops = config.epochs * config.crops_per_page * pages
        return cls(math.ceil(crops / (config.batch * config.accumulation * devices)), None)

    def progress(self, step: int, seconds: float) -> float:
        """From 0 at the start to 1 at the end, after `step` updates and so many active seconds."""
        by_steps = step / self.steps if self.steps else 0.0
        by_time = seconds / self.seconds if self.seconds else 0.0
        return min(max(by_steps, by_time), 1.0)

    def seconds_left(self, step: int, seconds: float) -> float | None:
        """Active seconds to go at the speed so far; None before there is one."""
        progress = self.progress(step, seconds)
        return seconds * (1 - progress) / progress if progress > 0 else None


class ActiveClock:
    """Counts the seconds spent working; a pause (a stopped process, a sleeping laptop) does not count.

    >>> times = iter([0.0, 1.0, 2.0, 3.0, 1003.0, 1004.0])
    >>> clock = ActiveClock(now=lambda: next(times))
    >>> for _ in range(5):
    ...     clock.tick("step")
    >>> clock.seconds
    5.0
    """

    def __init__(self, seconds: float = 0.0, now: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._now = seconds, now
        self._usual: dict[str, deque[float]] = {}
        self._spent: dict[str, float] = {}
        self._mark = now()

    def tick(self, kind: str, work: float = 1.0) -> float:
        """Add the time since the last tick, and return it; `work` makes parts of one kind comparable."""
        now = self._now()
        duration, self._mark = now - self._mark, now
        recent = self._usual.setdefault(kind, deque(maxlen=RECENT))
        if len(recent) >= 3:
            usual = statistics.median(recent) * work
            if duration > PAUSE * usual:
                duration = usual
        recent.append(duration / work)
        self.seconds += duration
        self._spent[kind] = self.spent(kind) + duration
        return duration

    def skip(self) -> None:
        """Leave out the time since the last tick."""
        self._mark = self._now()

    def spent(self, kind: str) -> float:
        """Seconds that counted for that kind since this clock was made."""
        return self._spent.get(kind, 0.0)

    def usual(self, kind: str) -> float | None:
        """The median duration of that kind, per unit of work."""
        recent = self._usual.get(kind)
        return statistics.median(recent) if recent else None
