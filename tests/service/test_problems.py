"""Wrong requests, damaged files and failures of the service are answered as problems."""

import errno
import math
import os
import random

import pytest
from mutated_files import healthy, mutated
from running_service import SCAN, Darkness, post, problem, running

from drmamba.checkpoint import Provenance
from drmamba.config import EngineConfig
from drmamba.inference.binarizer import Binarizer
from drmamba.service.upload import Form

httpx = pytest.importorskip("httpx")
FULL = bool(os.environ.get("DRMAMBA_FULL"))


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"files": {"other": ("a.png", SCAN)}}, 400),
        (
            {"content": b"--x\r\nnonsense", "headers": {"content-type": "multipart/form-data; boundary=x"}},
            400,
        ),
        ({"content": b"x", "headers": {"content-type": "multipart/form-data"}}, 400),
        ({"content": b"{}", "headers": {"content-type": "application/json"}}, 415),
        ({"content": b""}, 400),
        ({"files": {"file": ("a.png", b"")}}, 422),
        ({"files": {"file": ("a.png", SCAN[:300])}}, 422),
        ({"files": {"file": ("a.png", SCAN)}, "params": {"threshold": "nan"}}, 422),
        ({"files": {"file": ("a.png", SCAN)}, "params": {"format": "exe"}}, 422),
    ],
)
def test_wrong_requests_are_told_what_is_wrong(dark, request_, status):
    problem(httpx.post(f"{dark.url}/v1/binarize", **request_), status)


@pytest.mark.parametrize(("number", "status"), [(errno.ENOSPC, 507), (errno.EIO, 500)])
def test_a_disk_that_fails_is_not_the_client_s_fault(dark, monkeypatch, number, status):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    for place, name in ((os, "fsync"), (Form, "_data")):  # while results are written, and while uploads are
        with monkeypatch.context() as patch:
            patch.setattr(place, name, fail)
            body = problem(post(dark), status)
        assert str(dark.service.store.folder) not in body["detail"]
        assert ".png" not in body["detail"].replace("scan.png", "")
    assert post(dark).status_code == 200


def test_a_broken_model_is_said_and_is_not_the_client_s_fault():
    network = Darkness()
    network.slope.data.fill_(math.nan)
    engine = EngineConfig(workers=1, device="cpu")
    broken = Binarizer(network, engine=engine, provenance=Provenance(trained=True))
    with broken, running(broken) as server:
        body = problem(httpx.get(f"{server.url}/readyz"), 503)
        assert "cannot be run" in body["detail"]
        assert "weights are broken" in body["detail"]
        assert "weights are broken" in problem(post(server), 500)["detail"]


def test_every_unreadable_file_is_named(dark):
    files = [("file", ("a.png", b"no picture")), ("file", ("b.png", b""))]
    detail = problem(post(dark, files), 422)["detail"]
    assert "a.png" in detail
    assert "b.png" in detail


def test_mutated_files_never_make_a_fault(dark, tmp_path):
    rng, originals = random.Random(11), healthy(tmp_path / "healthy")
    seen = set()
    with httpx.Client(timeout=60) as client:
        for number in range(2000 if FULL else 60):
            data, ending = mutated(originals[number % len(originals)], rng)
            files = {"file": (f"{number}{ending}", data)}
            answer = client.post(f"{dark.url}/v1/binarize", files=files, params={"format": "tiff"})
            seen.add(answer.status_code)
            if answer.status_code != 200:
                body = problem(answer, answer.status_code)
                assert 400 <= answer.status_code < 500
                assert str(dark.service.store.folder) not in body["detail"]
    assert seen >= {200, 422}
    assert post(dark).status_code == 200
