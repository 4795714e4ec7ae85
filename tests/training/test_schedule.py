"""Progress, rate and active time."""

from itertools import pairwise

import pytest

from drmamba.config import TrainConfig
from drmamba.training.schedule import ActiveClock, Plan, rate_factor


def test_rate_rises_then_falls() -> None:
    config = TrainConfig(warmup=0.1, final_rate=0.02)
    rates = [rate_factor(i / 1000, config) for i in range(1001)]
    assert rates[0] == pytest.approx(0.01)  # the first update is not wasted
    assert rates[50] == pytest.approx(0.5)
    assert max(rates) == pytest.approx(rates[100]) == pytest.approx(1.0)
    assert rates[550] == pytest.approx(0.51)  # half way down the cosine
    assert rates[-1] == pytest.approx(0.02)
    assert all(a >= b for a, b in pairwise(rates[100:]))


def test_plan_by_epochs_steps_or_minutes() -> None:
    config = TrainConfig()  # 150 epochs, 16 crops of each page, 4 crops x 4 batches an update
    assert Plan.of(config, pages=100) == Plan(150 * 16 * 100 // 16, None)
    assert Plan.of(config, pages=100, devices=2) == Plan(150 * 16 * 100 // 32, None)
    assert Plan.of(TrainConfig(steps=7), pages=100) == Plan(7, None)
    assert Plan.of(TrainConfig(max_minutes=2), pages=100) == Plan(None, 120.0)
    both = Plan.of(TrainConfig(steps=10, max_minutes=2), pages=100)
    assert both.progress(5, 12.0) == 0.5
    assert both.progress(5, 90.0) == 0.75
    assert both.progress(99, 0.0) == 1.0


def test_time_left_follows_the_speed() -> None:
    plan = Plan(None, 100.0)
    assert plan.seconds_left(3, 25.0) == pytest.approx(75.0)
    assert Plan(10, None).seconds_left(2, 8.0) == pytest.approx(32.0)
    assert plan.seconds_left(0, 0.0) is None


class Times:
    """A clock that advances by given durations."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_pause_does_not_count() -> None:
    times = Times()
    clock = ActiveClock(seconds=40.0, now=times)
    for duration in (30.0, 1.0, 1.1, 0.9, 3600.0, 1.0):  # the first update compiles: that is work
        times.now += duration
        clock.tick("update")
    usual = (1.0 + 1.1) / 2  # the median of what came before the pause
    assert clock.seconds == pytest.approx(40 + 30 + 1 + 1.1 + 0.9 + usual + 1.0)


def test_larger_work_may_take_longer() -> None:
    times = Times()
    clock = ActiveClock(now=times)
    for pixels in (1, 1, 1, 20):
        times.now += pixels
        clock.tick("page", work=pixels)
    assert clock.seconds == clock.spent("page") == 23
    times.now += 500
    clock.skip()
    times.now += 1
    clock.tick("page")
    assert clock.seconds == 24
