"""The pages a browser has open, without a browser: limits, memory, uploads that overtake each other."""

import errno
import os
import threading
from types import SimpleNamespace

import pytest
from PIL import Image
from running_service import text_page

from drmamba.config import EngineConfig, ServiceConfig
from drmamba.images.reading.decoder_process import IsolatedPage
from drmamba.inference.binarizer import Binarizer, load_model
from drmamba.service import desk as desks
from drmamba.service.app import Service
from drmamba.service.desk import PER_PIXEL, Desk, Drawer, Sheet
from drmamba.service.engine import ConversionEngine

SETTINGS = (0.5, 1.0)  # threshold and suppression


@pytest.fixture(scope="module")
def service():
    limits = ServiceConfig(max_files=3)
    network, provenance, sha256 = load_model("lite")
    engine = EngineConfig(device="cpu", workers=1)
    with Binarizer(network, engine=engine, provenance=provenance, sha256=sha256) as binarizer:
        service = Service(ConversionEngine(binarizer, limits), limits)
        yield service
        service.close()


@pytest.fixture
def desk(service):
    desk = Desk(service, Drawer(service.limits.knob_memory))
    yield desk
    desk.clear()


@pytest.fixture
def scans(tmp_path):
    def made(*names, size=(96, 80)):
        for name in names:
            Image.fromarray(text_page(*size)).save(tmp_path / name)
        return [(tmp_path / name, name) for name in names]

    return made


def names(desk):
    return [sheet.name for sheet in desk.sheets]


def test_files_beyond_the_limit_are_counted(desk, scans):
    found = list(desk.add(scans(*(f"{i}.png" for i in range(5))), *SETTINGS, desk.clear()))
    lines = [item for item in found if isinstance(item, str)]
    assert len(lines) == 1
    assert "2 of 5 files" in lines[0]
    assert "3 at most" in lines[0]
    assert names(desk) == ["0.png", "1.png", "2.png"]


def test_an_old_upload_does_not_leak_into_a_new_one(desk, scans):
    old = desk.add(scans("a1.png", "a2.png"), *SETTINGS, desk.clear())
    assert next(old).name == "a1.png"
    own_round = desk.clear()
    overtaken = desk.add(scans("c.png"), *SETTINGS, own_round)  # begun, and put away before its first page
    assert [sheet.name for sheet in desk.add(scans("b.png"), *SETTINGS, desk.clear())] == ["b.png"]
    assert list(old) == []
    assert list(overtaken) == []
    assert names(desk) == ["b.png"]


def test_a_page_that_declares_too_much_is_not_decoded(service, scans, monkeypatch):
    decoded = []
    monkeypatch.setattr(IsolatedPage, "decode", lambda page: decoded.append(page))
    desk = Desk(service, Drawer(PER_PIXEL * 80 * 96 - 1))
    (line,) = desk.add(scans("large.png"), *SETTINGS, desk.clear())
    assert "large.png has more than" in line
    assert decoded == []


def test_decoding_is_within_the_service_s_memory(desk, scans, monkeypatch):
    ledger, held = desk.service.engine.ledger, []
    decode = IsolatedPage.decode

    def watched(page):
        held.append(ledger.total - ledger._left)
        decode(page)

    monkeypatch.setattr(IsolatedPage, "decode", watched)
    list(desk.add(scans("a.png"), *SETTINGS, desk.clear()))
    assert held
    assert min(held) >= 96 * 80
    assert ledger._left == ledger.total
    monkeypatch.setattr(ledger, "total", 1000)
    (line,) = desk.add(scans("b.png"), *SETTINGS, desk.clear())
    assert "does not fit this service's memory" in line


def test_a_full_disk_is_told_without_its_paths(desk, scans, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/secret/place")

    found = scans("a.png")
    monkeypatch.setattr(Image.Image, "save", full)
    (line,) = desk.add(found, *SETTINGS, desk.clear())
    assert line.startswith("a.png: there is no room left")
    assert "secret" not in line


def test_an_exploration_has_its_room_before_it_begins(desk, scans, monkeypatch):
    used, explore = [], desks.Exploration

    def watched(*args, keep, **options):
        used.append((desk.drawer.used, keep))
        return explore(*args, keep=keep, **options)

    monkeypatch.setattr(desks, "Exploration", watched)
    list(desk.add(scans("a.png"), *SETTINGS, desk.clear()))
    ((during, keep),) = used
    assert during == keep + PER_PIXEL * 96 * 80 <= desk.drawer.memory
    assert 0 < desk.drawer.used <= during
    desk.clear()
    assert desk.drawer.used == 0


def test_the_oldest_makes_room_and_no_other(tmp_path):
    drawer = Drawer(600)
    old, young, new = (Sheet(tmp_path, name, 1, 1) for name in "abc")
    for sheet in (old, young):
        drawer.put(sheet, SimpleNamespace(kept=250, rows=SimpleNamespace(height=0, width=0)))
    with drawer.reserve(new, 300):
        assert drawer.get(old) is None
        assert drawer.get(young) is not None
        assert drawer.used == 550


def test_two_explorations_never_take_more_than_there_is(tmp_path):
    drawer = Drawer(600)
    first, second = (Sheet(tmp_path, name, 1, 1) for name in "ab")
    inside, order = threading.Event(), []

    def other():
        with drawer.reserve(second, 400):
            order.append("second")
            inside.set()

    with drawer.reserve(first, 400):
        thread = threading.Thread(target=other)
        thread.start()
        assert not inside.wait(0.3)
        order.append("first")
    assert inside.wait(10)
    thread.join(10)
    assert order == ["first", "second"]
    assert drawer.used == 0
