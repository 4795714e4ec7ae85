"""The Dockerfile's steps, as far as they can be checked without a container engine.

Its files exist, its commands are ones that this package and pip understand, and what it promises about users, files and
health is written in it. That the image builds, how large it is and that it runs with a read-only root is not tested.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from drmamba.cli import group
from drmamba.config import ServiceConfig

ROOT = Path(__file__).parents[1]


def instructions():
    """(word, rest) of every instruction, with continued lines joined."""
    text = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text())
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def values(word):
    return [rest for name, rest in instructions() if name == word]


def test_what_is_copied_exists_and_is_not_ignored():
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line.startswith("!")}
    copied = {name for rest in values("COPY") if "--from" not in rest for name in rest.split()[:-1]}
    assert copied == kept
    assert all((ROOT / name).exists() for name in copied)


def test_it_runs_as_a_user_without_rights_and_writes_to_tmp_alone():
    words = [word for word, _ in instructions()]
    assert words.index("USER") > max(i for i, word in enumerate(words) if word in ("RUN", "COPY"))
    assert values("USER") == ["drmamba"]
    environment = dict(pair.split("=") for rest in values("ENV") for pair in rest.split())
    assert environment["HOME"] == "/tmp"
    assert environment["PYTHONDONTWRITEBYTECODE"] == "1"


def test_the_service_is_what_it_starts():
    (entry,), (command,) = map(json.loads, values("ENTRYPOINT")), map(json.loads, values("CMD"))
    assert entry == ["drmamba"]
    assert CliRunner().invoke(group, [*command, "--help"]).exit_code == 0
    assert values("EXPOSE") == [str(ServiceConfig().port)]


def test_the_extra_and_the_wheel_are_those_of_the_package():
    (install,) = (rest for rest in values("RUN") if "pip install" in rest)
    (extra,) = re.findall(r"\$wheel\[(\w+)\]", install)
    assert f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text()
    assert "-c /tmp/constraints.txt" in install


@pytest.mark.slow
def test_the_service_lives_as_the_health_check_asks(tmp_path):
    """The command and the health check of the image, with another port, in a folder that cannot be written to."""
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    command = json.loads(values("CMD")[0])
    command[command.index("0.0.0.0")] = "127.0.0.1"
    (tmp_path / "pages").mkdir(mode=0o500)
    environment = os.environ | {"HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "drmamba", *command, "--port", "0"],
        cwd=tmp_path / "pages", env=environment, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        url = next(match[0] for line in process.stderr if (match := re.search(r"http://[\d.:]+", line)))
        (check,) = re.findall(r"CMD (\[.*\])", values("HEALTHCHECK")[0])
        asked = json.loads(check)[-1]
        assert f":{ServiceConfig().port}/healthz" in asked
        code = asked.replace(f"http://127.0.0.1:{ServiceConfig().port}", url)
        subprocess.run([sys.executable, *shlex.split("-c"), code], check=True)
        assert urllib.request.urlopen(f"{url}/healthz", timeout=10).status == 200
    finally:
        process.terminate()
        process.wait(60)
        process.stderr.close()
