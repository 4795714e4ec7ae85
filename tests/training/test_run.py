"""Whole runs, small ones: to the end, stopped, resumed, refused."""

import json
import os
import signal
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from drmamba import checkpoint
from drmamba.checkpoint import Provenance
from drmamba.config import RunConfig, replace_values
from drmamba.errors import CheckpointError, DataError, TrainingError
from drmamba.training.initialization import copy_fitting, initial_network
from drmamba.training.learner import Learner, UpdateRecord
from drmamba.training.log import TrainingLog, read_log
from drmamba.training.run import train
from drmamba.training.run_data import RunData, _extra_pairs
from drmamba.training.run_directory import RunDirectory


def go(config: RunConfig, root: Path, resume: bool = False) -> RunDirectory:
    return train(config, root, resume=resume, accelerator="cpu", shown=False).directory


def test_a_run_leaves_a_model_and_its_scores(quick: RunConfig, tmp_path: Path) -> None:
    result = train(quick, tmp_path / "run", accelerator="cpu", shown=False)
    assert result.finished
    folder = result.directory
    network, provenance = checkpoint.load(folder.model)
    assert network.config == quick.model
    assert provenance.trained
    assert provenance.held_out == "2003"
    assert set(provenance.data) <= {"2001", "2002"}
    scores = json.loads(folder.scores.read_text())
    assert [page["name"] for page in scores["pages"]] == ["P0", "P1"]
    assert scores["mean"]["fm"] == pytest.approx(sum(page["fm"] for page in scores["pages"]) / 2)
    assert scores["steps"] == 6
    assert scores["validation_fm"] is not None
    assert sorted(path.name for path in folder.pages.iterdir()) == ["P0.png", "P1.png"]
    rows = read_log(folder.log)
    assert [row["step"] for row in rows] == ["1", "2", "3", "4", "5", "6", "6"]
    assert all(row["cldice"] and row["aux"] for row in rows[:6])
    assert folder.curve.is_file()
    roles = {(p["year"], p["role"]) for p in json.loads(folder.manifest.read_text())["pages"]}
    assert ("2003", "held_out") in roles
    assert {role for year, role in roles if year == "2003"} == {"held_out"}
    # what is saved are the averaged weights
    last = load_file(folder.checkpoint)
    for name, value in network.state_dict().items():
        torch.testing.assert_close(value, last[f"average/{name}"])
    with pytest.raises(TrainingError, match=r"already holds a run.*--resume"):
        go(quick, tmp_path / "run")
    assert go(quick, tmp_path / "run", resume=True).finished


# Crops are shown without their page.
ALONE = {"model": {"context": 0, "conventions": []}, "data": {"region": {"side": 0}}}
MIXED = {"data": {"synthetic_share": 0.5, "region": {"crops": 4}}, "train": {"batch": 2, "threads": 1}}


@pytest.mark.parametrize(
    "settings",
    [{}, {"train": {"accumulation": 2, "precision": "bfloat16", "steps": 3}}, ALONE, MIXED],
    ids=["context", "bfloat16", "alone", "mixed"],
)
def test_stopped_and_resumed_equals_uninterrupted(
    quick: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, object]
) -> None:
    quick = replace_values(replace_values(quick, {"train": {"steps": 4}}), settings)
    whole = go(quick, tmp_path / "whole")
    write = TrainingLog.write

    def interrupt(
        self: TrainingLog, step: int, seconds: float, progress: float, report: UpdateRecord
    ) -> None:
        write(self, step, seconds, progress, report)
        if step == 2:
            os.kill(os.getpid(), signal.SIGINT)  # what Ctrl-C does

    with monkeypatch.context() as patch:
        patch.setattr(TrainingLog, "write", interrupt)
        stopped = train(quick, tmp_path / "parts", accelerator="cpu", shown=False)
    assert not stopped.finished
    assert stopped.position.step == 2
    assert not stopped.directory.model.exists()
    resumed = go(stopped.directory.config(), tmp_path / "parts", resume=True)
    want, got = load_file(whole.checkpoint), load_file(resumed.checkpoint)
    assert want.keys() == got.keys()
    for name, value in want.items():
        assert torch.equal(value, got[name]), name
    for first, second in zip(read_log(whole.log), read_log(resumed.log), strict=True):
        del first["seconds"], second["seconds"]
        assert first == second


def test_not_a_number_keeps_the_last_good_checkpoint(
    quick: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = replace_values(quick, {"train": {"steps": 3, "checkpoint_minutes": 0.0}})  # after every update
    update = Learner.update

    def poison(self: Learner, step: int, *rest: object) -> UpdateRecord:
        if step == 2:
            with torch.no_grad():
                self.network.auxiliary.bias.fill_(float("nan"))
        return update(self, step, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Learner, "update", poison)
    with pytest.raises(TrainingError, match="not a number at step 2"):
        go(quick, tmp_path / "run")
    good = load_file(tmp_path / "run" / "last.safetensors")
    assert all(value.isfinite().all() for value in good.values())
    monkeypatch.undo()
    assert go(quick, tmp_path / "run", resume=True).read_scores()["steps"] == 3


def test_a_time_plan_ends_and_can_be_extended(quick: RunConfig, tmp_path: Path) -> None:
    short = replace_values(quick, {"train": {"steps": 0, "max_minutes": 0.01}})
    result = train(short, tmp_path / "run", accelerator="cpu", shown=False)
    assert result.position.seconds >= 0.6
    assert float(read_log(result.directory.log)[0]["progress"]) == 0.0


def test_changed_pages_are_refused(quick: RunConfig, years: Path, tmp_path: Path) -> None:
    quick = replace_values(quick, {"train": {"steps": 1}})
    folder = go(quick, tmp_path / "run")
    folder.scores.unlink()
    page = years / "2001" / "img" / "P0.png"
    page.write_bytes((years / "2001" / "img" / "P1.png").read_bytes())
    with pytest.raises(TrainingError, match=r"not those that the run started with \(2001/P0"):
        go(quick, tmp_path / "run", resume=True)


def test_wrong_data_stops_before_anything_is_trained(quick: RunConfig, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="1999"):
        go(replace_values(quick, {"source": {"hold_out": "1999"}}), tmp_path / "a")
    with pytest.raises(DataError, match="nowhere"):
        go(replace_values(quick, {"source": {"data": str(tmp_path / "nowhere")}}), tmp_path / "b")
    with pytest.raises(DataError, match="no years"):
        go(replace_values(quick, {"source": {"data": "synthetic"}}), tmp_path / "c")
    both = {"data": "synthetic", "hold_out": None, "extra": [quick.source.data]}
    with pytest.raises(DataError, match=r"synthetic_share is 0;.*=0\.8"):
        go(replace_values(quick, {"source": both}), tmp_path / "c")
    assert not list(tmp_path.glob("[abc]"))  # so that the same folder can be used with the right data


def test_no_model_is_judged_on_what_it_started_from(quick: RunConfig, tmp_path: Path) -> None:
    year = quick.source.hold_out
    first = tmp_path / "first.safetensors"
    checkpoint.save(first, initial_network(quick), Provenance(trained=True, data=("synthetic", str(year))))
    with pytest.raises(TrainingError, match=f"first.safetensors was trained on {year}, which this run"):
        go(replace_values(quick, {"source": {"init": str(first)}}), tmp_path / "run")
    checkpoint.save(first, initial_network(quick), Provenance(trained=True, data=("synthetic",)))
    folder = go(
        replace_values(quick, {"source": {"init": str(first)}, "train": {"steps": 1}}), tmp_path / "run"
    )
    assert "synthetic" in checkpoint.read_header(folder.model)[1].data


def test_pretraining_on_synthetic_pages_and_pairs(quick: RunConfig) -> None:
    source = {"data": "synthetic", "hold_out": None, "extra": [quick.source.data]}
    data = RunData.of(replace_values(quick, {"source": source, "data": {"synthetic_share": 0.5}}))
    assert data.names[0] == "synthetic"
    assert "2001" in data.names
    assert {page.year for page in data.validation} == {"synthetic"}
    assert data.crops().pool is not None
    assert data.crops().synthesizer is not None


def test_a_run_starts_from_another_model(quick: RunConfig, tmp_path: Path) -> None:
    first = go(replace_values(quick, {"train": {"steps": 1}}), tmp_path / "first")
    again = replace_values(quick, {"source": {"init": str(first.model)}})
    network, _ = checkpoint.load(first.model)
    for name, value in initial_network(again).state_dict().items():
        assert torch.equal(value, network.state_dict()[name])
    other = replace_values(again, {"model": {"block": {"width": quick.model.block.width + 8}}})
    fresh = copy_fitting(initial_network(replace_values(other, {"source": {"init": None}})), first.model)
    assert fresh  # a wider block does not fit ...
    assert not any(name.startswith("encoder.") for name in fresh)  # ... but the encoder does
    with pytest.raises(CheckpointError, match="another encoder"):
        initial_network(replace_values(again, {"model": {"encoder": "efficientnet_lite0"}}))


def test_extra_pages_say_by_which_convention_their_ink_was_marked(quick: RunConfig, years: Path) -> None:
    for given, convention in (
        (f"{years}=all", "all"),
        (f"{years}=contest", "contest"),
        (str(years), "contest"),
    ):
        found = _extra_pairs(given)
        assert len(found) == 6
        assert {pair.convention for pair in found} == {convention}
    with pytest.raises(
        DataError, match=r"=everything does not name an ink convention; there are contest, all"
    ):
        _extra_pairs(f"{years}=everything")
    own = replace_values(quick, {"source": {"extra": [f"{years}=all"]}})
    assert {pair.convention for pair in RunData.of(own).split.train} == {"contest", "all"}


def test_a_network_that_sees_its_page_needs_regions(quick: RunConfig, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"set data\.region\.side"):
        go(replace_values(quick, {"data": {"region": {"side": 0}}}), tmp_path / "run")
