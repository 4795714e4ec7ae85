"""Processors that report AMX and cannot run it."""

import os
import subprocess

import pytest
import torch

from drmamba.ops import bfloat16


@pytest.fixture(autouse=True)
def unknown(monkeypatch):
    monkeypatch.setenv(bfloat16.ISA_LIMIT, "")
    monkeypatch.delenv(bfloat16.ISA_LIMIT)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True)
    bfloat16.amx_works.cache_clear()
    yield
    bfloat16.amx_works.cache_clear()


def probe(monkeypatch, code):
    asked = []

    def run(command, **_):
        asked.append(command)
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(subprocess, "run", run)
    return asked


def test_amx_that_ends_a_process_is_not_used(monkeypatch):
    asked = probe(monkeypatch, -4)
    assert not bfloat16.has_bfloat16(torch.device("cpu"))
    assert os.environ[bfloat16.ISA_LIMIT] == bfloat16.WITHOUT_AMX
    assert not bfloat16.has_bfloat16(torch.device("cpu"))
    assert len(asked) == 1


def test_amx_that_works_is_used(monkeypatch):
    probe(monkeypatch, 0)
    assert bfloat16.has_bfloat16(torch.device("cpu"))
    assert bfloat16.ISA_LIMIT not in os.environ


def test_a_limit_that_the_user_has_set_is_respected(monkeypatch):
    asked = probe(monkeypatch, 0)
    monkeypatch.setenv(bfloat16.ISA_LIMIT, "AVX2")
    assert not bfloat16.has_bfloat16(torch.device("cpu"))
    assert os.environ[bfloat16.ISA_LIMIT] == "AVX2"
    assert not asked
