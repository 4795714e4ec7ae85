"""Every file in configs/ fits both presets, and says only what differs."""

import tomllib
from pathlib import Path

import pytest

from drmamba.config import recipe, replace_values

FILES = sorted((Path(__file__).parents[1] / "configs").glob("*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("preset", ["tiny", "lite"])
def test_a_config_file_applies(path: Path, preset: str) -> None:
    values = tomllib.loads(path.read_text())
    changed = replace_values(recipe(preset), values)
    assert changed != recipe(preset)


def test_there_are_config_files() -> None:
    assert FILES
