"""`drmamba benchmark` as a user meets it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from drmamba.cli import group
from drmamba.images import write_ink

pytest.importorskip("doxapy")


def run(*words: object, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "drmamba", "benchmark", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def invoke(*words: object) -> Result:
    """Run the command in this process, which has loaded everything already."""
    return CliRunner().invoke(group, ["benchmark", *map(str, words)])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("1", "2"):
        truth = np.zeros((48, 64), bool)
        truth[10:16, 6:58] = True
        for kind in ("img", "gt"):
            (tmp_path / "data" / "2018" / kind).mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.where(truth, 60, 220).astype(np.uint8)).save(
            tmp_path / f"data/2018/img/{name}.png"
        )
        write_ink(tmp_path / f"data/2018/gt/{name}.png", truth)
    return tmp_path / "data"


def test_a_run_prints_a_table_and_leaves_its_reports(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--data", root, "--methods", f"otsu,me={root / '2018' / 'gt'}", "--json", "out.json")
    done = run(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("method")
    assert "otsu (doxapy" in done.stdout
    assert "2018: 2 of the contest's 10 pages" in done.stdout
    folder = tmp_path / "drmamba-benchmark"
    assert {path.name for path in folder.iterdir()} == {
        "pages",
        "report.json",
        "report.md",
        "results.jsonl",
        "scores.png",
    }
    assert json.loads((tmp_path / "out.json").read_text())["methods"][1]["mean"]["psnr"] == "inf"
    monkeypatch.chdir(tmp_path)
    again = invoke(*words[:4], "--json", "-", "--no-plot")
    assert again.exit_code == 0
    assert "4 of 4 results are in drmamba-benchmark already" in again.stderr
    assert len(json.loads(again.stdout)["rows"]) == 4


def test_failures_cost_exit_code_1_and_wrong_usage_2(root: Path, tmp_path: Path) -> None:
    (root / "2018" / "img" / "2.png").write_bytes(b"broken")
    done = invoke("--data", root, "--methods", "otsu", "-o", tmp_path / "run", "--no-plot")
    assert done.exit_code == 1
    assert "not scored: otsu, 2018/2:" in done.stderr
    assert "1 of 2" in done.stdout
    wrong = run("--data", root, "--methods", "magic", folder=tmp_path)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("drmamba: there is no method 'magic'")
