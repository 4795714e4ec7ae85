"""`drmamba evaluate` as a user meets it."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from drmamba.cli import group
from drmamba.errors import DataError
from drmamba.images import write_ink


def run(*words: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(group, ["evaluate", *map(str, words)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def pages(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        truth = np.zeros((40, 60), bool)
        truth[10:16, 5:55] = truth[24:30, 5:40] = True
        for folder, page in (("gt", truth), ("found", truth ^ (rng.random(truth.shape) < 0.02))):
            (tmp_path / folder).mkdir(exist_ok=True)
            write_ink(tmp_path / folder / f"{name}.png", page)
    return tmp_path / "found", tmp_path / "gt"


def test_perfect_pages(pages: tuple[Path, Path]) -> None:
    code, out, _ = run(pages[1], pages[1])
    assert code == 0
    assert out.splitlines()[5].split() == [
        "mean",
        "of",
        "2",
        "100.00",
        "100.00",
        "inf",
        "0.00",
        "100.00",
        "100.00",
    ]
    assert "PSNR is infinite on 2 of 2 pages" in out
    assert "metrics version 1" in out
    assert "p-FM: pseudo-F-measure" in out


def test_json_is_strict_and_stamped(pages: tuple[Path, Path], tmp_path: Path) -> None:
    code, out, _ = run(*pages, "--json", tmp_path / "scores.json")
    assert code == 0
    assert out.startswith("page")
    text = (tmp_path / "scores.json").read_text()
    report = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert report["metrics_version"] == "1"
    assert set(report["definitions"]) >= {"fm", "pfm", "psnr", "drd"}
    assert [page["name"] for page in report["pages"]] == ["one", "two"]
    assert report["mean"]["fm"] == pytest.approx(np.mean([page["fm"] for page in report["pages"]]))
    perfect = json.loads(run(pages[1], pages[1], "--json", "-")[1])
    assert perfect["mean"]["psnr"] == "inf"
    assert float(perfect["pages"][0]["psnr"]) == float("inf")


def test_csv_has_the_mean_last(pages: tuple[Path, Path]) -> None:
    code, out, _ = run(*pages, "--csv", "-", "--skeleton")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["page"] for row in rows] == ["one", "two", "mean"]
    assert float(rows[2]["drd"]) == pytest.approx((float(rows[0]["drd"]) + float(rows[1]["drd"])) / 2)
    assert {row["metrics_version"] for row in rows} == {"1"}
    assert 0 < float(rows[2]["skeleton_fm"]) <= 100


def test_missing_extra_and_broken_pages_are_named_and_cost_exit_code_1(pages: tuple[Path, Path]) -> None:
    found, truth = pages
    (found / "two.png").rename(found / "other.png")
    code, out, err = run(found, truth)
    assert code == 1
    assert f"no prediction for {truth / 'two.png'}" in err
    assert f"no ground truth for {found / 'other.png'}" in err
    assert "1 of 2 pages are scored" in err
    assert "mean of 1" in out
    (found / "two.png").write_bytes(b"broken")
    code, _, err = run(found, truth)
    assert code == 1
    assert "not scored: two" in err


def test_nothing_to_do_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        run(tmp_path / "a", tmp_path)


def test_the_real_2018_pages_against_themselves(data_root: Path) -> None:
    code, out, _ = run(data_root / "2018" / "gt", data_root / "2018" / "gt")
    assert code == 0
    assert "mean of 10  100.00  100.00   inf  0.00" in out
