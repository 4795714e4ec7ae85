"""`drmamba info`: facts for people and for machines."""

import json
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

from drmamba import checkpoint
from drmamba.cli import group
from drmamba.cli.info import in_words, lines
from drmamba.config import preset
from drmamba.errors import MissingExtra, install_command
from drmamba.model.network import DRMamba


@pytest.fixture(scope="module")
def tiny():
    """What is printed about the paper's network; counting its operations takes seconds."""
    result = CliRunner().invoke(group, ["info", "--model", "tiny", "--json"])
    assert result.exit_code == 0
    return json.loads(result.stdout)


def test_json_facts(tiny):
    facts = tiny
    assert abs(facts["parameters"] / 33.51e6 - 1) < 0.005
    assert abs(facts["gflops_512"] / 178 - 1) < 0.02
    assert facts["trained"] is False
    assert facts["scan_backend"] in ("numba", "triton", "chunked")


def test_words():
    result = CliRunner().invoke(group, ["info"])
    assert result.exit_code == 0
    assert "runtime            ONNX Runtime" in result.stdout
    assert "CPUExecutionProvider" in result.stdout
    assert checkpoint.read_header(checkpoint.embedded("lite"))[0].encoder in result.stdout


def test_context_and_conventions(tmp_path, tiny):
    config = replace(preset("lite"), encoder="convnext_atto", decoder=(8, 8, 8))
    path = tmp_path / "m.safetensors"
    checkpoint.save(path, DRMamba(config), checkpoint.Provenance())
    facts = json.loads(CliRunner().invoke(group, ["info", "--model", str(path), "--json"]).stdout)
    assert (facts["context"], facts["conventions"]) == (4, ["contest", "all"])
    words = [line for name, value in in_words(facts).items() for line in lines(name, value)]
    assert "context            the whole page, 4 times reduced, beside each window" in words
    assert "conventions        contest, all" in words
    plain = [line for name, value in in_words(tiny).items() for line in lines(name, value)]
    assert "context            windows alone" in plain
    assert "conventions        contest only (--keep text)" in plain


def test_scores_within_scores_have_lines_of_their_own():
    folds = {"mean": {"fm": 91.0}, "years": {"2018": {"fm": 90.96317}}}
    assert lines("metrics", {"fm": None, "folds": folds}) == [
        "metrics            fm: -",
        "  folds",
        "    mean           fm: 91.00",
        "    years",
        "      2018         fm: 90.96",
    ]


def test_a_missing_file_is_one_line():
    result = CliRunner().invoke(group, ["info", "--model", "nowhere.safetensors"])
    assert result.exit_code != 0
    assert "there is no model" in str(result.exception)


def test_without_torch_one_line_says_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    for args in (["info", "--model", "tiny"], ["export", "-o", str(tmp_path / "m.onnx")]):
        result = CliRunner().invoke(group, args)
        assert isinstance(result.exception, MissingExtra)
        assert str(result.exception).endswith(f"get it with: {install_command('torch')}")
