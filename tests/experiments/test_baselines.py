"""Classical methods: settings, polarity, and pixels where the oracle has them."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from drmamba.config import CLASSICAL, ClassicalConfig
from drmamba.errors import ConfigError, MissingExtra
from drmamba.experiments import baselines
from drmamba.images import read_ink, read_rgb
from drmamba.metrics import score

pytest.importorskip("doxapy")


def scan() -> np.ndarray:
    """Dark strokes on paper that darkens to the right, a little noise."""
    rng = np.random.default_rng(0)
    page = np.linspace(230, 170, 160)[None, :] + rng.normal(0, 4, (120, 160))
    page[20:26, 15:145] = page[50:54, 15:145] = page[80:90, 15:145] = 60
    return np.repeat(page.clip(0, 255).astype(np.uint8)[:, :, None], 3, axis=2)


@pytest.mark.parametrize("name", ["otsu", "sauvola", "gatos", "su", "wolf", "wan", "nick", "isauvola"])
def test_methods_find_dark_ink(name: str) -> None:
    truth = np.zeros((120, 160), bool)
    truth[20:26, 15:145] = truth[50:54, 15:145] = truth[80:90, 15:145] = True
    found = baselines.binarize(name, baselines.grey(scan()))
    assert found.dtype == bool
    assert score(found, truth).fm > 75


@pytest.mark.parametrize("name", CLASSICAL)
def test_every_method_runs_and_leaves_the_page_alone(name: str) -> None:
    page = baselines.grey(scan())
    before = page.copy()
    assert baselines.binarize(name, page).shape == page.shape
    np.testing.assert_array_equal(page, before)


def test_settings_reach_the_library() -> None:
    page = baselines.grey(scan())
    usual = baselines.binarize("sauvola", page)
    eager = baselines.binarize("sauvola", page, ClassicalConfig(window=15, k=-0.2))
    assert eager.sum() > usual.sum()


def test_grey_is_rounded_luma() -> None:
    rgb = np.random.default_rng(1).integers(0, 256, (30, 40, 3), np.uint8)
    wanted = np.floor(rgb @ np.array([0.299, 0.587, 0.114]) + 0.5)
    assert np.abs(baselines.grey(rgb) - wanted).max() <= 1
    assert (baselines.grey(rgb) == wanted).mean() > 0.99


def test_an_unknown_method_is_named_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="otsu, sauvola"):
        baselines.settings("otsuu")
    with pytest.raises(ConfigError, match=r"doxapy \d.* has no method 'magic'"):
        baselines.binarize("magic", np.zeros((9, 9), np.uint8), ClassicalConfig())


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "doxapy", None)
    with pytest.raises(MissingExtra, match=r"doxapy is not installed.*\[evaluate\]"):
        baselines.library_version()


def test_stable_methods_equal_the_oracles_pixels(data_root: Path, oracle_root: Path) -> None:
    oracle = json.loads((oracle_root / "classical.json").read_text())
    for page in ("2009/H01", "2011/PR3", "2018/5"):
        year, name = page.split("/")
        grey = baselines.grey(read_rgb(data_root / year / "img" / f"{name}.png"))
        truth = read_ink(data_root / year / "gt" / f"{name}.png")
        for method in ("otsu", "sauvola", "wolf", "nick", "isauvola"):  # the others change between versions
            got = score(baselines.binarize(method, grey), truth)
            assert got.fm == pytest.approx(oracle[page][method]["fm"], abs=0.01), (page, method)
