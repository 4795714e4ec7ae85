"""`drmamba binarize` with --shard and --engine, as its users meet it."""

import json
import sys

import pytest
from click.testing import CliRunner
from stand_in import Darkness, save, text_page

from drmamba.checkpoint import Provenance
from drmamba.cli.binarize import command
from drmamba.errors import ConfigError, MissingExtra, install_command


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Four pages, and a stand-in for the network that the command loads."""
    import drmamba.inference.binarizer as module

    monkeypatch.setattr(module, "load_model", lambda *_: (Darkness(), Provenance(trained=True), "dark"))
    for i in range(4):
        save(tmp_path / f"in/{i}.png", text_page(60, 80, seed=i))
    return tmp_path / "in"


def run(*args):
    return CliRunner().invoke(command, [str(arg) for arg in args])


def test_shards_make_one_batch_with_a_report_each(sources, tmp_path):
    report = tmp_path / "report.jsonl"
    for part in ("1/2", "2/2"):
        done = run(sources, "-o", tmp_path / "out", "--shard", part, "--report", report, "--workers", 1)
        assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [f"{i}.png" for i in range(4)]
    assert not report.exists()
    reports = [tmp_path / f"report-{part}-of-2.jsonl" for part in (1, 2)]
    lines = [json.loads(line) for path in reports if path.exists() for line in path.read_text().splitlines()]
    assert sorted(line["input"] for line in lines) == sorted(map(str, sources.iterdir()))


def test_an_empty_shard_is_no_error(sources, tmp_path):
    codes = [run(sources / "0.png", "-o", tmp_path / "out", "--shard", f"{i}/3").exit_code for i in (1, 2, 3)]
    assert codes == [0, 0, 0]
    assert isinstance(run(sources, "-o", tmp_path / "out", "--shard", "4/3").exception, ConfigError)


def test_uris_are_for_ray(sources, tmp_path):
    done = run("s3://bucket/scans", "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert "URIs are for --engine ray" in done.stderr
    done = run(sources, "s3://bucket/scans", "-o", tmp_path / "out", "--engine", "ray")
    assert done.exit_code == 2
    assert "give one folder and where its results go" in done.stderr


def test_without_ray_the_extra_is_named(sources, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    missing = run(sources, "-o", tmp_path / "out", "--engine", "ray").exception
    assert isinstance(missing, MissingExtra)
    assert str(missing) == f"ray is not installed; get it with: {install_command('ray')}"
