"""`drmamba info`: facts for people and for machines."""

import json
import sys
from dataclasses import replace

from click.testing import CliRunner

from drmamba import checkpoint
from drmamba.cli import group
from drmamba.cli.info import lines
from drmamba.config import preset
from drmamba.errors import CheckpointError
from drmamba.model.network import DRMamba


def test_json_facts():
    result = CliRunner().invoke(group, ["info", "--model", "tiny", "--json"])
    assert result.exit_code == 0
    facts = json.loads(result.stdout)
    assert abs(facts["parameters"] / 33.51e6 - 1) < 0.005
    assert abs(facts["gflops_512"] / 178 - 1) < 0.02
    assert facts["trained"] is False
    assert facts["scan_backend"] in ("numba", "triton", "chunked")


def test_words():
    result = CliRunner().invoke(group, ["info"])
    assert result.exit_code == 0
    assert "scan_backend" in result.stdout
    assert "efficientnet_lite0" in result.stdout


def test_context_and_conventions(tmp_path):
    config = replace(preset("lite"), encoder="convnext_atto", decoder=(8, 8, 8))
    path = tmp_path / "m.safetensors"
    checkpoint.save(path, DRMamba(config), checkpoint.Provenance())
    facts = json.loads(CliRunner().invoke(group, ["info", "--model", str(path), "--json"]).stdout)
    assert (facts["context"], facts["conventions"]) == (4, ["contest", "all"])
    words = CliRunner().invoke(group, ["info", "--model", str(path)]).stdout
    assert "context            the whole page, 4 times reduced, beside each window" in words
    assert "conventions        contest, all" in words
    plain = CliRunner().invoke(group, ["info", "--model", "tiny"]).stdout
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
    for args in (["info"], ["export", "-o", str(tmp_path / "m.onnx")]):
        result = CliRunner().invoke(group, args)
        assert isinstance(result.exception, CheckpointError)
        assert f"drmamba {args[0]} needs torch, which is not installed: pip install torch" in str(
            result.exception
        )
