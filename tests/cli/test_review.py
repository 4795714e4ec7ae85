"""`drmamba review`: exit codes, words, and the file it writes."""

import json

import pytest
from click.testing import CliRunner

from drmamba.cli.review import command
from drmamba.errors import InputError


def test_a_review_is_written_beside_its_report(tmp_path):
    report = tmp_path / "report.jsonl"
    report.write_text(json.dumps({"status": "failed", "input": "gone.jpg", "error": "gone.jpg is damaged"}))
    result = CliRunner().invoke(command, [str(report), "--title", "Letters", "--options", "--model my.onnx"])
    assert result.exit_code == 0, result.output
    assert "1 pages in" in result.stderr
    text = (tmp_path / "review.html").read_text()
    assert "<title>Letters</title>" in text
    assert '"options":"--model my.onnx"' in text


def test_a_missing_report_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot read the report .*none\.jsonl"):
        CliRunner().invoke(command, [str(tmp_path / "none.jsonl")], catch_exceptions=False)
