"""The runs of an ablation: fair settings, records, and rows that other processes work on."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from drmamba.cli.ablate import command
from drmamba.config import LossConfig, recipe, replace_values
from drmamba.data.dataset import CropDataset
from drmamba.errors import ConfigError, TrainingError
from drmamba.experiments.studies import run_series
from drmamba.experiments.studies.ablation_tables import BCE_ONLY, tables, variants
from drmamba.experiments.studies.ablations import fair_config, jobs
from drmamba.experiments.studies.run_records import manifest_digest
from drmamba.experiments.studies.run_series import RunLauncher, TrainingJob
from drmamba.files import FileLock
from drmamba.training.run_data import RunData
from drmamba.training.run_directory import RunDirectory

RUNS = [variant.run for variant in variants("components", "efficientnet_lite0", ["A3", "A4"])]
TINY = {
    "model": {
        "encoder": "convnext_atto",
        "decoder": [8, 8, 8],
        "block": {"width": 8},
        "detail": {"width": 8, "head_width": 8, "dilations": [1]},
    },
    "data": {"crop": 32, "region": {"side": 64}},
    "train": {"steps": 1, "batch": 2, "validations": 1, "precision": "float32"},
}


@pytest.fixture
def years(tmp_path: Path, small_encoder: None) -> Path:  # noqa: ARG001
    rng = np.random.default_rng(0)
    for year in ("2001", "2002", "2003"):
        for part in ("img", "gt"):
            (tmp_path / "data" / year / part).mkdir(parents=True)
        for name in ("a", "b"):
            ink = rng.random((64, 64)) < 0.1
            Image.fromarray(~ink).save(tmp_path / "data" / year / "gt" / f"{name}.png")
            grey = np.where(ink, 60, 200).astype(np.uint8)
            Image.fromarray(grey).save(tmp_path / "data" / year / "img" / f"{name}.png")
    return tmp_path / "data"


def options(years: Path, root: Path, *more: str) -> list[str]:
    def flat(values: dict[str, Any], prefix: str = "") -> list[str]:
        found = []
        for name, value in values.items():
            inner = flat(value, f"{prefix}{name}.") if isinstance(value, dict) else None
            found += inner if inner is not None else ["--set", f"{prefix}{name}={json.dumps(value)}"]
        return found

    words = ["--data", str(years), "--table", "components", "--hold-out", "2003", "--validate-on", "2002"]
    return [*words, "--accelerator", "cpu", "-o", str(root), *flat(TINY), *more]


def test_rows_are_trained_scored_recorded_and_resumed(years: Path, tmp_path: Path) -> None:
    root = tmp_path / "ablation"
    words = options(years, root, "--row", "A2", "--row", "A4", "--seeds", "0")
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "| A4 |" in done.stdout
    assert (root / "components" / "components.png").stat().st_size > 1000
    record = json.loads((root / "records" / "A4-2003-0.json").read_text())
    assert record["config"]["train"]["seed"] == 0
    assert record["updates"] == 1
    assert [(p["year"], p["name"]) for p in record["pages"]["held_out"]] == [("2003", "a"), ("2003", "b")]
    assert [p["year"] for p in record["pages"]["kept_out"]] == ["2002", "2002"]
    assert {p["part"] for p in record["usage"]} == {
        "whole",
        "D=0",
        "B=0",
        "beta=mean",
        "block=mean",
        "deep=mean",
    }
    assert {p["year"] for p in record["usage"]} == {"2002"}
    assert str(tmp_path) not in json.dumps(record)  # no path of this machine
    other = json.loads((root / "records" / "A2-2003-0.json").read_text())
    assert other["manifest"] == record["manifest"]
    assert other["config"]["model"]["detail"]["plain"] is True
    before = (root / "records" / "A4-2003-0.json").stat().st_mtime_ns
    again = CliRunner().invoke(command, words, catch_exceptions=False)
    assert again.exit_code == 0
    assert "run 1 of" not in again.stderr  # nothing was left to do
    assert (root / "records" / "A4-2003-0.json").stat().st_mtime_ns == before
    with FileLock(root / "locks" / "A3-2003-0") as lock:  # as if another process trained it
        assert lock.acquire()
        taken = CliRunner().invoke(command, options(years, root, "--row", "A3"), catch_exceptions=False)
    assert taken.exit_code != 0
    assert "left to another process" in taken.stderr
    assert "0 of 1 runs are done" in taken.stderr


def test_the_same_number_of_updates_and_threads_for_all() -> None:
    config = recipe("lite")
    assert fair_config(config).train.threads == 1
    assert fair_config(replace_values(config, {"train": {"threads": 2}})).train.threads == 2
    with pytest.raises(ConfigError, match=r"train\.steps=1200"):
        fair_config(replace_values(config, {"train": {"max_minutes": 5.0}}))


def test_seeds_come_one_after_the_other_and_rows_differ_in_nothing_else(tmp_path: Path) -> None:
    found = jobs(recipe("lite"), tmp_path, RUNS, ["2019"], [0, 1])
    assert [job.record for job in found] == ["A3-2019-0", "A4-2019-0", "A3-2019-1", "A4-2019-1"]
    assert len({job.training.folder for job in found}) == 4
    a3, a4 = found[2].training.config, found[3].training.config
    assert a3.train.seed == a4.train.seed == 1
    assert a3 == replace_values(a4, {"loss": BCE_ONLY})


def test_every_row_sees_the_same_crops(years: Path) -> None:
    base = replace_values(recipe("lite"), {**TINY, "source": {"data": str(years), "hold_out": "2003"}})
    base = replace_values(base, {"model": {"encoder": "efficientnet_lite0"}})

    def crops(config: Any) -> list[Any]:
        dataset: CropDataset = RunData.of(config).crops()
        return [dataset[i]["image"].numpy() for i in range(4)]

    want = crops(base)
    for name in ("components", "directions", "loss"):
        for variant in tables("efficientnet_lite0")[name]:
            np.testing.assert_array_equal(crops(variant.run.apply(base)), want)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seeds", "0,x"], "--seeds takes numbers"),
        (["--usage-on", "2001"], "rows are trained on it"),
        (["--max-minutes", "3"], "same number of updates"),
    ],
)
def test_wrong_options_are_named_before_anything_is_trained(
    years: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    done = CliRunner().invoke(command, options(years, tmp_path / "runs", *words))
    assert isinstance(done.exception, ConfigError)
    assert message in str(done.exception)
    assert not (tmp_path / "runs").exists()


def test_ablations_are_about_the_papers_loss(
    years: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(RunLauncher, "run", lambda self, job: seen.append(job.config))  # noqa: ARG005
    words = options(years, tmp_path / "runs", "--row", "A4", "--set", "loss.tv=0.4")
    assert CliRunner().invoke(command, words).exit_code != 0  # the run was "interrupted"
    assert seen[0].loss == replace(LossConfig(), tv=0.4)
    assert seen[0].data.flips == recipe("lite").data.flips


def test_a_digest_is_of_contents_and_not_of_places(tmp_path: Path) -> None:
    page = {"role": "train", "year": "2001", "name": "a", "image_sha256": "1", "truth_sha256": "2"}
    paths = [tmp_path / name for name in "abc"]
    for path, changes in zip(paths, ({"image": "x"}, {"image": "y"}, {"truth_sha256": "3"}), strict=True):
        path.write_text(json.dumps({"pages": [{**page, **changes}]}))
    one, moved, other = map(manifest_digest, paths)
    assert one == moved != other


def test_runs_with_other_settings_are_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = recipe("lite")
    RunDirectory(tmp_path).begin(config)
    other = replace_values(config, {"train": {"batch": 3}})
    with pytest.raises(TrainingError, match="other settings"):
        RunLauncher().run(TrainingJob("x", other, tmp_path))
    called = []
    monkeypatch.setattr(run_series, "train", lambda config, *a, **k: called.append(config) or _result())  # noqa: ARG005
    longer = replace_values(config, {"train": {"max_minutes": 3.0}})
    assert RunLauncher().run(replace(TrainingJob("x", longer, tmp_path))) == {"mean": {}}
    assert called == [longer]


def _result() -> Any:
    class Done:
        scores = {"mean": {}}  # noqa: RUF012

    return Done()
