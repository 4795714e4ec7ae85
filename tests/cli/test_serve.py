"""`drmamba serve` before anything is served: usage and refusals."""

import socket
import warnings

import pytest
from click.testing import CliRunner

from drmamba.cli import group
from drmamba.cli.network import load_binarizer
from drmamba.cli.serve import _is_local
from drmamba.config import EngineConfig, ServiceConfig
from drmamba.errors import ConfigError
from drmamba.inference.memory import page_memory


def test_help_names_the_limits():
    text = CliRunner().invoke(group, ["serve", "--help"]).output
    for option in ("--host", "--port", "--token", "--queue", "--max-bytes", "--max-pixels", "--max-seconds"):
        assert option in text
    assert "127.0.0.1" in text


@pytest.mark.parametrize(
    "words", [["--port", "70000"], ["--max-seconds", "0"], ["--queue", "-1"], ["--max-pixels", "0"]]
)
def test_wrong_settings_are_named(words):
    with pytest.raises(ConfigError, match=words[0].removeprefix("--").replace("-", "_")):
        CliRunner().invoke(group, ["serve", *words], catch_exceptions=False)


def test_a_taken_port_is_said():
    pytest.importorskip("fastapi", reason="the service needs the extra web")
    pytest.importorskip("uvicorn", reason="the service needs the extra web")
    from drmamba.service.server import listening_socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port}"):
            listening_socket("127.0.0.1", port)


def test_it_is_local_unless_told():
    assert ServiceConfig().host == "127.0.0.1"
    assert _is_local("127.0.0.1")
    assert _is_local("::1")
    assert _is_local("localhost")
    assert not _is_local("0.0.0.0")
    assert not _is_local("scans.example.org")


def test_many_cores_and_the_default_memory_start(monkeypatch, capsys):
    monkeypatch.setattr("drmamba.inference.models.cpu_workers", lambda *_: 64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = load_binarizer("lite", EngineConfig(device="cpu"))
    with made:
        assert 1 < made.pool.count < 64
        assert page_memory(made.pool.count, made.config, made.pool.config.max_memory, made.pool.runtime) > 0
    assert f"{made.pool.count} of 64 cores: --max-memory allows no more" in capsys.readouterr().err
