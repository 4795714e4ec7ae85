"""The memory of explorations: who makes room, and who waits."""

import threading
from types import SimpleNamespace

import running_service  # noqa: F401  # skips where the extra web is missing

from drmamba.service.exploration_cache import ExplorationCache


def test_the_oldest_makes_room_and_no_other():
    cache = ExplorationCache(600)
    for key in ("old", "young"):
        cache.put(key, SimpleNamespace(bytes=250))
    with cache.reserve("new", 300):
        assert cache.get("old") is None
        assert cache.get("young") is not None
        assert cache.used == 550


def test_two_explorations_never_take_more_than_there_is():
    cache = ExplorationCache(600)
    inside, order = threading.Event(), []

    def other():
        with cache.reserve("second", 400):
            order.append("second")
            inside.set()

    with cache.reserve("first", 400):
        thread = threading.Thread(target=other)
        thread.start()
        assert not inside.wait(0.3)
        order.append("first")
    assert inside.wait(10)
    thread.join(10)
    assert order == ["first", "second"]
    assert cache.used == 0
