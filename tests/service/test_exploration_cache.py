"""The memory of explorations: who makes room, and who waits."""

import threading
from types import SimpleNamespace

import running_service  # noqa: F401  # skips where the extra web is missing

from drmamba.service.page.exploration_cache import ExplorationCache
from drmamba.service.page.open_page import OpenPage


def test_the_oldest_makes_room_and_no_other(tmp_path):
    cache = ExplorationCache(600)
    old, young, new = (OpenPage(tmp_path, name, 1, 1) for name in "abc")
    for page in (old, young):
        cache.put(page, SimpleNamespace(kept=250, rows=SimpleNamespace(height=0, width=0)))
    with cache.reserve(new, 300):
        assert cache.get(old) is None
        assert cache.get(young) is not None
        assert cache.used == 550


def test_two_explorations_never_take_more_than_there_is(tmp_path):
    cache = ExplorationCache(600)
    first, second = (OpenPage(tmp_path, name, 1, 1) for name in "ab")
    inside, order = threading.Event(), []

    def other():
        with cache.reserve(second, 400):
            order.append("second")
            inside.set()

    with cache.reserve(first, 400):
        thread = threading.Thread(target=other)
        thread.start()
        assert not inside.wait(0.3)
        order.append("first")
    assert inside.wait(10)
    thread.join(10)
    assert order == ["first", "second"]
    assert cache.used == 0
