"""Leave-one-year-out: folds, resuming, and the table beside the paper's."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from drmamba.cli.loo import command
from drmamba.config import RunConfig, recipe, replace_values
from drmamba.errors import ConfigError, DataError
from drmamba.experiments.paper_tables import LEAVE_ONE_OUT
from drmamba.experiments.studies.leave_one_out import folds, leave_one_out, report
from drmamba.experiments.studies.leave_one_out_report import table
from drmamba.experiments.studies.run_series import RunLauncher
from drmamba.files import FileLock

LAUNCHER = RunLauncher(accelerator="cpu", shown=False)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory, small_encoder: None) -> RunConfig:  # noqa: ARG001
    """Two contest years of two pages."""
    tmp_path = tmp_path_factory.mktemp("years")
    rng = np.random.default_rng(0)
    for year in ("2018", "2019"):
        for part in ("img", "gt"):
            (tmp_path / "data" / year / part).mkdir(parents=True)
        for name in ("a", "b"):
            ink = rng.random((64, 64)) < 0.1
            Image.fromarray(~ink).save(tmp_path / "data" / year / "gt" / f"{name}.png")
            grey = np.where(ink, 60, 200).astype(np.uint8)
            Image.fromarray(grey).save(tmp_path / "data" / year / "img" / f"{name}.png")
    return replace_values(
        recipe("lite"),
        {
            "source": {"data": str(tmp_path / "data")},
            "model": {"encoder": "convnext_atto", "decoder": [8, 8, 8], "block": {"width": 8}},
            "data": {"crop": 32, "region": {"side": 64}},
            "train": {"steps": 1, "batch": 2, "validations": 0, "precision": "float32"},
        },
    )


def scores(fm: float, pages: int = 2) -> dict[str, Any]:
    mean = {"fm": fm, "pfm": fm + 1, "psnr": 18.0, "drd": 3.0}
    return {
        "mean": mean,
        "pages": [{"name": str(i)} for i in range(pages)],
        "minutes": 1.0,
        "steps": 2,
        "classical": {},
        "classical_library": None,
        "everyday": mean,
    }


def test_a_fold_for_every_year(config: RunConfig, tmp_path: Path) -> None:
    jobs = folds(config, tmp_path)
    assert [job.name for job in jobs] == ["2018", "2019"]
    assert [job.config.source.hold_out for job in jobs] == ["2018", "2019"]
    assert [job.name for job in folds(config, tmp_path, ["2018"])] == ["2018"]
    with pytest.raises(DataError, match="2042"):
        folds(config, tmp_path, ["2042"])
    kept = replace_values(config, {"data": {"validate_on": ["2018"]}})
    assert [job.name for job in folds(kept, tmp_path)] == ["2019"]


@dataclass
class Series:
    """Both folds, interrupted after the first and resumed: what came back, and where it is."""

    folder: Path
    stopped: list[dict[str, Any]]
    done: dict[str, Any]
    messages: list[str]


@pytest.fixture(scope="module")
def series(config: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> Series:
    """Train the two folds, once for all tests that look at finished runs."""
    run, left, messages = RunLauncher.run, iter([True, False]), []
    folder = tmp_path_factory.mktemp("series") / "runs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunLauncher, "run", lambda self, job: run(self, job) if next(left) else None)
        stopped = list(leave_one_out(config, folder, folder / "records", LAUNCHER, lambda _: None))
    *_, done = leave_one_out(config, folder, folder / "records", LAUNCHER, messages.append)
    return Series(folder, stopped, done, messages)


def test_folds_resume_and_end_in_one_table(series: Series) -> None:
    assert [list(done) for done in series.stopped] == [["2018"]]
    assert [words.split(":")[1].split()[0] for words in series.messages] == ["2019"]  # 2018 was not run again
    done = series.done
    assert list(done) == ["2018", "2019"]
    stored = (series.folder / "results.json").read_text()
    assert str(series.folder.parent) not in stored  # others read it: no path of this machine
    results = json.loads(stored)
    assert results["folds_done"] == 2
    fm = [float(results["years"][year]["mean"]["fm"]) for year in done]
    assert results["average"]["fm"] == pytest.approx(sum(fm) / 2)
    text = (series.folder / "table.md").read_text()
    assert "89.87" in text  # the paper's 2018
    assert "2019: 2 of the contest's 20 pages" in text
    default = json.loads((series.folder / "2018" / "everyday.json").read_text())
    assert default["scores"]["mean"]["fm"] == results["years"]["2018"]["everyday"]["fm"]
    assert default["settings"]["scale"] == "auto"
    assert (series.folder / "plot.png").stat().st_size > 1000


def test_the_papers_average_stands_only_beside_all_ten_years() -> None:
    years = [row.name for row in LEAVE_ONE_OUT if row.name != "Average"]
    whole = table({year: scores(90.0) for year in years}, "lite", 10)
    part = table({year: scores(90.0) for year in years[:4]}, "lite", 10)
    assert "92.06" in whole
    assert "92.06" not in part
    assert "average of 4" in part


def test_years_the_recipe_was_chosen_on_are_marked_and_averaged_out() -> None:
    done = {"2012": scores(96.0), "2014": scores(90.0), "2018": scores(92.0)}
    lines = table(done, "lite", 3, ["2012", "2018"]).splitlines()
    assert [line.split(" |")[0] for line in lines[2:7]] == [
        "| 2012 ‡", "| 2014", "| 2018 ‡", "| average of 3", "| without ‡: 1",
    ]  # fmt: skip
    assert "| 92.67 |" in lines[5]
    assert "| 90.00 |" in lines[6]
    assert "- ‡ The recipe was chosen on these years." in lines
    assert "‡" not in table(done, "lite", 3)


def test_a_year_chosen_on_that_is_not_there_is_refused(config: RunConfig, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no year 2031"):
        list(leave_one_out(config, tmp_path, tmp_path, LAUNCHER, print, chosen_on=["2031"]))


def test_a_fold_holds_its_year_out_of_everything_else(series: Series) -> None:
    pages = json.loads((series.folder / "2018" / "manifest.json").read_text())["pages"]
    assert {p["role"] for p in pages if p["year"] == "2018"} == {"held_out"}
    assert {p["role"] for p in pages if p["year"] != "2018"} == {"train", "validation"}


def test_classical_methods_stand_beside_on_the_same_pages(
    config: RunConfig, series: Series, tmp_path: Path
) -> None:
    shutil.copytree(series.folder, tmp_path / "runs")
    (tmp_path / "runs" / "records" / "2019.json").unlink()  # it has no classical methods

    def scored() -> dict[str, Any]:
        """The scores of 2018 without a record of it."""
        (tmp_path / "runs" / "records" / "2018.json").unlink()
        found = leave_one_out(
            config,
            tmp_path / "runs",
            tmp_path / "runs" / "records",
            LAUNCHER,
            lambda _: None,
            ["2018"],
            ["otsu", "su"],
        )
        return dict(list(found)[-1]["2018"])

    otsu = scored()["classical"]["otsu"]
    assert otsu["fm"] == pytest.approx(100)  # two grey values
    text = (tmp_path / "runs" / "table.md").read_text()
    assert "| method | FM | p-FM | PSNR | DRD |" in text
    assert "| otsu | 100.00 |" in text
    kept = tmp_path / "runs" / "2018" / "classical.json"
    kept.write_text(kept.read_text().replace('"fm": 100.0', '"fm": 1.0'))
    stored = tmp_path / "runs" / "2018" / "everyday.json"
    known = json.loads(stored.read_text())
    known["scores"]["mean"]["fm"] = 2.0
    stored.write_text(json.dumps(known))
    again = scored()
    assert again["classical"]["otsu"]["fm"] == 1.0  # read, not made again
    assert again["everyday"]["fm"] == 2.0


def test_records_alone_give_the_same_results(series: Series, tmp_path: Path) -> None:
    text = report(series.folder / "records", tmp_path / "report")
    for name in ("results.json", "table.md"):
        assert (tmp_path / "report" / name).read_text() == (series.folder / name).read_text()
    assert text == (series.folder / "table.md").read_text()
    assert (tmp_path / "report" / "plot.png").stat().st_size > 1000
    done = CliRunner().invoke(
        command, ["--report", str(series.folder / "records"), "-o", str(tmp_path / "b")]
    )
    assert done.exit_code == 0
    assert (tmp_path / "b" / "results.json").is_file()
    with pytest.raises(DataError, match="there is no record of 2012"):
        report(series.folder / "records", tmp_path / "report", ["2012"])


def test_records_of_other_settings_are_refused(config: RunConfig, series: Series, tmp_path: Path) -> None:
    shutil.copytree(series.folder / "records", tmp_path / "records")
    longer = replace_values(config, {"train": {"steps": 2}})
    with pytest.raises(
        ConfigError, match=r"2018\.json cannot be compared with this command: config.train.steps"
    ):
        list(leave_one_out(longer, tmp_path, tmp_path / "records", LAUNCHER, print))
    other = tmp_path / "records" / "2019.json"
    values = json.loads(other.read_text())
    values["config"]["train"]["steps"] = 7
    other.write_text(json.dumps(values))
    with pytest.raises(
        ConfigError, match=r"2019\.json cannot be compared with .*2018\.json: config.train.steps is 7"
    ):
        report(tmp_path / "records", tmp_path)
    (tmp_path / "records" / "2012.json").write_text("[]")
    with pytest.raises(ConfigError, match=r"2012\.json is not a record of a fold"):
        report(tmp_path / "records", tmp_path)
    with pytest.raises(ConfigError, match="there is no folder"):
        report(tmp_path / "nothing", tmp_path)


def test_a_fold_that_another_process_works_on_is_left_to_it(
    config: RunConfig, series: Series, tmp_path: Path
) -> None:
    shutil.copytree(series.folder, tmp_path / "runs")
    records, said = tmp_path / "runs" / "records", list[str]()
    (records / "2018.json").unlink()
    with FileLock(tmp_path / "runs" / "locks" / "2018") as lock:
        assert lock.acquire()
        done = list(leave_one_out(config, tmp_path / "runs", records, LAUNCHER, said.append))
    assert [list(found) for found in done] == [["2019"]]
    assert said == ["fold 1 of 2: 2018 is left to another process"]
