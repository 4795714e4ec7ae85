"""Settings are checked when made, and read back from plain values."""

from dataclasses import fields

import pytest

from drmamba.config import BlockConfig, ModelConfig, RunConfig, preset, set_value
from drmamba.errors import ConfigError

BLOCK = [item.name for item in fields(BlockConfig)]


@pytest.mark.parametrize("name", ["tiny", "lite"])
def test_round_trip(name):
    assert ModelConfig.from_dict(preset(name).to_dict()) == preset(name)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"width": 0}, "block.width must be 1 or more, got 0"),
        ({"width": "96"}, "block.width must be int, got '96'"),
        ({"width": True}, "block.width must be int, got True"),
        ({"fusion": "multiply"}, "block.fusion must be one of subtract, add, concat, got 'multiply'"),
        ({"directions": 2}, "block.directions must be one of 1, 4, 8, got 2"),
        ({"speed": 1}, f"block has no setting 'speed'; it has {', '.join(sorted(BLOCK))}"),
    ],
)
def test_wrong_values_are_named(values, words):
    with pytest.raises(ConfigError) as caught:
        BlockConfig.from_dict(values)
    assert str(caught.value) == words


def test_former_names_of_training_settings_are_accepted():
    run = RunConfig.from_dict({"train": {"batch": 4, "lanes": 2}})
    assert run.train.threads == 2
    assert set_value(run, "train.lanes", "1").train.threads == 1
    assert "lanes" not in run.to_dict()["train"]


def test_set_value_reaches_into_parts():
    changed = set_value(set_value(preset("tiny"), "block.fusion", "add"), "decoder", "[8, 8, 4]")
    assert changed.block.fusion == "add"
    assert changed.decoder == (8, 8, 4)
    assert preset("tiny").block.fusion == "subtract"


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("block.speed", "1", "block has no setting 'speed'"),
        ("encoder.depth", "1", "model.encoder is one value"),
        ("decoder", "[1, 2]", "model.decoder must hold 3 values"),
        ("nothing", "1", "model has no setting 'nothing'"),
    ],
)
def test_set_value_says_what_is_wrong(path, text, words):
    with pytest.raises(ConfigError, match=words):
        set_value(preset("tiny"), path, text)
