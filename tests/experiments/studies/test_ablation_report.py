"""The report of ablations, from made-up records whose differences are known."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from drmamba.cli.ablate import command
from drmamba.config import recipe, replace_values
from drmamba.errors import ConfigError
from drmamba.experiments.report import settings
from drmamba.experiments.studies.ablation_records import FORMAT
from drmamba.experiments.studies.ablation_report import write_report
from drmamba.experiments.studies.run_records import write_record

BASE = settings(replace_values(recipe("lite"), {"source": {"data": "dibco", "init": "start.safetensors"}}))


def put(folder: Path, run: str, seed: int, fm: float, usage: float | None = None, **changes: Any) -> None:
    """A record in which FM is that number, plus a point a seed, plus ten on every other page."""

    def pages(year: str, count: int) -> list[dict[str, Any]]:
        found = []
        for number in range(count):
            own = fm + seed + 10 * (number % 2)
            found.append({"year": year, "name": str(number), "fm": own, "pfm": own, "psnr": 15.0, "drd": 4.0})
        return found

    used = [] if usage is None else [
        {"year": "2018", "name": "1", "part": "whole", "pixels": 0.0, "fm": fm},
        {"year": "2018", "name": "1", "part": "D=0", "pixels": 2.5, "fm": fm + usage},
    ]  # fmt: skip
    values = {
        "format": FORMAT,
        "metrics_version": "1",
        "run": run,
        "seed": seed,
        "held_out": "2019",
        "kept_out": ["2018"],
        "updates": 1200,
        "manifest": "m",
        "init_sha256": "i",
        "base": BASE,
        "pages": {"held_out": pages("2019", 13), "kept_out": pages("2018", 4)},
        "usage": used,
        **changes,
    }
    write_record(folder, f"{run}-2019-{seed}", values)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    folder = tmp_path / "ablations"
    for seed in range(3):
        put(folder, "A2", seed, 70.0 + 0.1 * seed)
        put(folder, "A3", seed, 72.0, -30.0)
        put(folder, "A4", seed, 75.0, -40.0)
    put(folder, "directions-1", 0, 74.0)
    return folder


@pytest.fixture
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the plots, which take most of the time, where only the text is tested."""
    monkeypatch.setattr("drmamba.experiments.studies.ablation_report.plot_table", lambda *_: None)


def test_the_report_shows_ours_beside_the_papers(records: Path, tmp_path: Path) -> None:
    text = write_report(records, tmp_path / "ablations.md")
    assert text == (tmp_path / "ablations.md").read_text()
    for table in ("components", "fusion", "directions", "loss", "backbone"):
        assert f"## {table.capitalize()}" in text
        assert f"(ablations/{table}.png)" in text
        assert (records / f"{table}.png").stat().st_size > 1000
    # Thirteen pages: seven at 75 and six at 85, and a point more on average over the seeds.
    a4 = next(line for line in text.splitlines() if line.startswith("| A4 | full model"))
    assert f"| 3 | {(7 * 75 + 6 * 85) / 13 + 1:.2f} |" in a4
    assert "75.16" in a4  # the paper's
    assert "2019: 13 of the contest's 20 pages" in text
    assert "PP-LCNetV4-small, untrained" in text


@pytest.mark.usefixtures("no_plots")
def test_differences_are_paired_and_have_intervals(records: Path, tmp_path: Path) -> None:
    lines = write_report(records, tmp_path / "a.md", ["components"]).splitlines()
    a4 = next(line for line in lines if line.startswith("| A4 | A3 (the row above)"))
    assert "| +3.00 | +3.00 to +3.00 (n = 3) | +3.00 to +3.00 (n = 13) | 13 (13) | 0 (0) |" in a4
    a3 = next(line for line in lines if line.startswith("| A3 | A4 |"))
    assert "| -3.00 |" in a3
    assert "2019/0 -3.0" in a3
    one = write_report(records, tmp_path / "b.md", ["directions"])
    assert "one value only" in one  # a single seed has no interval


@pytest.mark.usefixtures("no_plots")
def test_claims_need_intervals(records: Path, tmp_path: Path) -> None:
    text = write_report(records, tmp_path / "ablations.md")

    def claim(start: str) -> str:
        return next(line for line in text.splitlines() if line.startswith(f"| {start}"))

    assert claim("The compound loss adds").count("holds here") == 2
    assert "cannot be told from one seed" in claim("Four directions are better than one")
    assert "not measured yet" in claim("Two routes, joined")
    put(records, "A4", 1, 60.0)  # now the seeds disagree
    assert "cannot be told" in next(
        line
        for line in write_report(records, tmp_path / "ablations.md").splitlines()
        if line.startswith("| The compound loss adds")
    )


@pytest.mark.usefixtures("no_plots")
def test_the_use_of_routes_is_averaged(records: Path, tmp_path: Path) -> None:
    text = write_report(records, tmp_path / "a.md", ["components"])
    assert "| A4 | -40.00 FM, 2.50 % |" in text
    assert "| A3 | -30.00 FM, 2.50 % |" in text


@pytest.mark.usefixtures("no_plots")
def test_what_is_missing_is_said(records: Path, tmp_path: Path) -> None:
    text = write_report(records, tmp_path / "a.md").partition("## What is missing")[2]
    assert "- components, A0: seeds 0, 1, 2\n" in text
    assert "- directions, 1: seeds 1, 2\n" in text
    assert "components, A4:" not in text
    assert "ConvNeXt-Tiny, pretrained: seeds 0, 1, 2 (needs weights from the Hub)" in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"updates": 600}, "updates is 600 and not 1200"),
        ({"base": {**BASE, "preset": "tiny"}}, "base.preset is 'tiny' and not 'lite'"),
        ({"manifest": "n"}, "other pages than"),
        ({"init_sha256": "j"}, "started from another model"),
        ({"format": 99}, "not a record of an ablation"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(
    records: Path, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    put(records, "add", 0, 70.0, **changes)
    with pytest.raises(ConfigError, match=words):
        write_report(records, tmp_path / "a.md")


def test_a_setting_that_is_newer_than_a_record_had_its_default(records: Path, tmp_path: Path) -> None:
    older = {name: value for name, value in BASE["loss"].items() if name != "thinning"}
    put(records, "add", 0, 70.0, base={**BASE, "loss": older})
    write_report(records, tmp_path / "a.md")
    put(records, "add", 0, 70.0, base={**BASE, "loss": older | {"tv": 0.5}})
    with pytest.raises(ConfigError, match=r"base\.loss\.tv is 0\.5 and not 0\.3"):
        write_report(records, tmp_path / "a.md")


def test_the_command_writes_the_report(records: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(command, ["--report", str(records), "-o", str(tmp_path / "out.md")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "loss.png").is_file()
    assert json.loads((records / "A4-2019-0.json").read_text())["run"] == "A4"  # records are left alone
    wrong = CliRunner().invoke(command, ["--report", str(tmp_path / "nowhere"), "-o", "x.md"])
    assert "there is no folder" in str(wrong.exception)
    assert "-o FILE.md" in str(CliRunner().invoke(command, ["--report", str(records)]).exception)
