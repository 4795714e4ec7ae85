"""The registry of ablations, and the tables made of runs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from drmamba.config import RunConfig, recipe, replace_values
from drmamba.errors import ConfigError
from drmamba.experiments.paper_tables import ABLATIONS
from drmamba.experiments.studies import run_series
from drmamba.experiments.studies.ablation_tables import TABLES, listing, variants
from drmamba.experiments.studies.ablations import ablate, jobs
from drmamba.experiments.studies.run_series import RunLauncher, TrainingJob
from drmamba.model.network import DRMamba

ROWS = [(table, variant) for table, rows in TABLES.items() for variant in rows]


def test_rows_are_the_papers() -> None:
    assert TABLES.keys() == ABLATIONS.keys()
    for table, rows in TABLES.items():
        assert [variant.name for variant in rows] == [row.name for row in ABLATIONS[table]]


@pytest.mark.parametrize("preset", ["tiny", "lite"])
@pytest.mark.parametrize(("table", "variant"), ROWS, ids=lambda x: getattr(x, "name", x))
def test_changes_apply_to_any_preset(preset: str, table: str, variant: Any) -> None:
    base = recipe(preset)
    changed = variant.apply(base)
    assert isinstance(changed, RunConfig)
    last = variant is TABLES[table][-1] or (table, variant.name) == ("directions", "4")
    if last and table not in ("directions", "fusion"):
        assert changed == base  # the last row is the whole of DR-Mamba
    elif not last:
        assert changed != base


def test_components_add_one_thing_each() -> None:
    a = [variant.apply(recipe("tiny")) for variant in TABLES["components"]]
    assert [c.model.block.routes for c in a] == ["single", "dual", "dual", "dual", "dual"]
    assert [c.model.block.fusion for c in a[1:]] == ["concat", "subtract", "subtract", "subtract"]
    assert [c.model.detail.enabled for c in a] == [False, False, False, True, True]
    assert [c.loss.sdf for c in a] == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert [c.loss.bce for c in a] == [1.0, 1.0, 1.0, 1.0, 0.1]


@pytest.mark.parametrize(
    ("table", "variant"), [r for r in ROWS if r[0] != "backbone"], ids=lambda x: getattr(x, "name", x)
)
def test_every_row_trains(table: str, variant: Any) -> None:  # noqa: ARG001
    small = replace_values(
        recipe("lite"),
        {
            "model": {
                "encoder": "convnext_atto",
                "decoder": [8, 8, 8],
                "block": {"width": 8},
                "detail": {"width": 8},
            }
        },
    )
    network = DRMamba(variant.apply(small).model)
    output = network(torch.rand(1, 3, 32, 32))
    (output.logits.mean() + output.auxiliary.mean()).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in network.parameters())
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in network.block.parameters())


def test_unknown_tables_and_rows_are_named() -> None:
    with pytest.raises(ConfigError, match="components, fusion"):
        variants("colours")
    with pytest.raises(ConfigError, match="A0, A1"):
        variants("components", ["A9"])
    assert [v.name for v in variants("components", ["A0", "A4"])] == ["A0", "A4"]
    assert "model.block.fusion=concat" in listing()


def test_the_same_run_in_two_tables_has_one_folder(tmp_path: Path) -> None:
    def folders(table: str, row: str) -> Path:
        return jobs(recipe("lite"), tmp_path, variants(table, [row]), ["2019"])[0].folder

    assert (
        folders("components", "A4")
        == folders("loss", "+ thin-stroke connectivity")
        == folders("directions", "4")
    )
    assert folders("components", "A1") == folders("fusion", "concat")
    assert folders("components", "A1") != folders("components", "A2")


def fake(job: TrainingJob) -> dict[str, Any]:
    """Scores that tell which run they are of."""
    fm = 80.0 + job.config.loss.sdf + (job.config.model.detail.enabled and 2)
    mean = {"fm": fm, "pfm": fm + 1, "psnr": 15.0, "drd": 4.0}
    return {"mean": mean, "pages": [{"name": str(i)} for i in range(13)], "minutes": 1.5, "steps": 9}


def test_a_table_is_written_after_every_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunLauncher, "run", lambda self, job: fake(job))  # noqa: ARG005
    texts = list(ablate(recipe("lite"), tmp_path, "components", ["2019"], RunLauncher(), lambda _: None))
    assert len(texts) == 5
    assert "1 of 5 rows done" in texts[0]
    final = (tmp_path / "components.md").read_text()
    assert final == texts[-1]
    assert "| A4 |" in final
    assert "83.00" in final  # ours
    assert "75.16" in final  # the paper's
    assert "2019: 13 of the contest's 20 pages" in final
    rows = json.loads((tmp_path / "components.json").read_text())["rows"]
    assert rows["A0"]["mean"]["fm"] == 80.0
    assert "loss.bce=1.0" in rows["A0"]["changes"]
    assert (tmp_path / "components.png").stat().st_size > 1000


def test_an_interrupted_table_ends_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = iter([True, True, False])
    monkeypatch.setattr(RunLauncher, "run", lambda self, job: fake(job) if next(left) else None)  # noqa: ARG005
    texts = list(ablate(recipe("lite"), tmp_path, "components", ["2019"], RunLauncher(), lambda _: None))
    assert len(texts) == 2


def test_runs_with_other_settings_are_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from drmamba.errors import TrainingError
    from drmamba.training.run_directory import RunDirectory

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
