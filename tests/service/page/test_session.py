"""The pages a browser has open, without a browser: limits, memory, uploads that overtake each other."""

import errno
import os

import pytest
from PIL import Image
from running_service import text_page

from drmamba.config import EngineConfig, ServiceConfig
from drmamba.images.reading.decoder_process import IsolatedPage
from drmamba.inference.binarizer import Binarizer, load_model
from drmamba.service.engine import ConversionEngine
from drmamba.service.page import session as sessions
from drmamba.service.page.exploration_cache import BYTES_PER_PIXEL, ExplorationCache
from drmamba.service.page.session import BrowserSession
from drmamba.service.service import Service

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
def session(service):
    session = BrowserSession(service, ExplorationCache(service.limits.exploration_memory))
    yield session
    session.close_pages()


@pytest.fixture
def scans(tmp_path):
    def made(*names, size=(96, 80)):
        for name in names:
            Image.fromarray(text_page(*size)).save(tmp_path / name)
        return [(tmp_path / name, name) for name in names]

    return made


def names(session):
    return [page.name for page in session.pages]


def test_files_beyond_the_limit_are_counted(session, scans):
    found = list(session.open_files(scans(*(f"{i}.png" for i in range(5))), *SETTINGS, session.close_pages()))
    lines = [item for item in found if isinstance(item, str)]
    assert len(lines) == 1
    assert "2 of 5 files" in lines[0]
    assert "3 at most" in lines[0]
    assert names(session) == ["0.png", "1.png", "2.png"]


def test_an_old_upload_does_not_leak_into_a_new_one(session, scans):
    old = session.open_files(scans("a1.png", "a2.png"), *SETTINGS, session.close_pages())
    assert next(old).name == "a1.png"
    generation = session.close_pages()
    overtaken = session.open_files(
        scans("c.png"), *SETTINGS, generation
    )  # begun, and put away before its first page
    assert [page.name for page in session.open_files(scans("b.png"), *SETTINGS, session.close_pages())] == [
        "b.png"
    ]
    assert list(old) == []
    assert list(overtaken) == []
    assert names(session) == ["b.png"]


def test_a_page_that_declares_too_much_is_not_decoded(service, scans, monkeypatch):
    decoded = []
    monkeypatch.setattr(IsolatedPage, "decode", lambda page: decoded.append(page))
    session = BrowserSession(service, ExplorationCache(BYTES_PER_PIXEL * 80 * 96 - 1))
    (line,) = session.open_files(scans("large.png"), *SETTINGS, session.close_pages())
    assert "large.png has more than" in line
    assert decoded == []


def test_decoding_is_within_the_service_s_memory(session, scans, monkeypatch):
    ledger, held = session.service.engine.ledger, []
    decode = IsolatedPage.decode

    def watched(page):
        held.append(ledger.total - ledger._left)
        decode(page)

    monkeypatch.setattr(IsolatedPage, "decode", watched)
    list(session.open_files(scans("a.png"), *SETTINGS, session.close_pages()))
    assert held
    assert min(held) >= 96 * 80
    assert ledger._left == ledger.total
    monkeypatch.setattr(ledger, "total", 1000)
    (line,) = session.open_files(scans("b.png"), *SETTINGS, session.close_pages())
    assert "does not fit this service's memory" in line


def test_a_full_disk_is_told_without_its_paths(session, scans, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/secret/place")

    found = scans("a.png")
    monkeypatch.setattr(Image.Image, "save", full)
    (line,) = session.open_files(found, *SETTINGS, session.close_pages())
    assert line.startswith("a.png: there is no room left")
    assert "secret" not in line


def test_an_exploration_has_its_room_before_it_begins(session, scans, monkeypatch):
    used, explore = [], sessions.Exploration

    def watched(*args, keep, **options):
        used.append((session.cache.used, keep))
        return explore(*args, keep=keep, **options)

    monkeypatch.setattr(sessions, "Exploration", watched)
    list(session.open_files(scans("a.png"), *SETTINGS, session.close_pages()))
    ((during, keep),) = used
    assert during == keep + BYTES_PER_PIXEL * 96 * 80 <= session.cache.memory
    assert 0 < session.cache.used <= during
    session.close_pages()
    assert session.cache.used == 0
