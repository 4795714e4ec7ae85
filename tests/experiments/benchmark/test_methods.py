"""The methods of a benchmark: their names, their networks, and where predictions are found."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from drmamba.errors import ConfigError, DataError
from drmamba.experiments.benchmark.methods import Predictions, parse_methods
from drmamba.experiments.benchmark.run import choose_pairs
from drmamba.images import write_ink

pytest.importorskip("doxapy")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["magic"], "there is no method 'magic'; there are otsu"),
        (["x=/nowhere/at/all"], "neither a folder of predictions nor a model"),
        (["otsu", "otsu"], "needs a name of its own"),
        ([], "names no method"),
    ],
)
def test_a_wrong_method_is_explained(words: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_methods(words)


def test_predictions_are_found_in_the_usual_places(root: Path, tmp_path: Path) -> None:
    pairs, _ = choose_pairs(root)
    page = np.zeros((4, 4), bool)

    def look(name: str, *files: str) -> list[str]:
        folder = tmp_path / name
        for file in files:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            write_ink(folder / file, page)
        predictions = Predictions(folder, pairs)
        return [predictions.find(pair).relative_to(folder).as_posix() for pair in pairs]

    by_year = ["2009/H01.png", "2009/H02_gt.png", "DIBCO2019/out/A01.bin.png"]
    assert look("years", *by_year) == by_year
    flat = ["H01.png", "2009_H02.png", "2019-A01.tif"]
    assert look("flat", *flat) == flat
    with pytest.raises(DataError, match="both claim to be 2009/H01"):
        look("twice", "2009/H01.png", "2009/H01.tif")
    with pytest.raises(DataError, match=r"no prediction for 2009/H02 in .*2009/H02\.png is expected"):
        look("gap", "2009/H01.png")


def test_an_untrained_or_unknown_network_is_marked(small_model: Callable[..., Path], tmp_path: Path) -> None:
    (blind,) = parse_methods([f"net={small_model(tmp_path / 'a.safetensors')}"])
    assert blind.label == "net (UNTRAINED)"
    (dark,) = parse_methods([f"net={small_model(tmp_path / 'b.safetensors', trained=True)}"])
    assert dark.has_seen("2014")
    assert "training data unknown" in dark.note
