"""The contest's own weight files and an independent program's scores, on the real pages, where they are."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from drmamba.images import read_ink
from drmamba.metrics import read_weights, score, weight_maps

METHODS = ("otsu", "sauvola", "gatos", "su")
TOLERANCE = {"fm": 0.001, "psnr": 0.001, "drd": 0.01, "pfm": 0.01}


@pytest.mark.slow
def test_every_weight_equals_the_contests_own(data_root: Path, oracle_root: Path) -> None:
    files = sorted((oracle_root / "weights").glob("*/*_RWeights.dat.gz"))
    assert len(files) == 25
    for file in files:
        name = file.name.removesuffix("_RWeights.dat.gz")
        truth = read_ink(data_root / file.parent.name / "gt" / f"{name}.png")
        wanted = read_weights(file.parent, name, truth)
        assert wanted is not None
        got = weight_maps(truth)
        worst = max(np.abs(got.recall - wanted.recall).max(), np.abs(got.precision - wanted.precision).max())
        assert worst <= 1e-5, f"{file.parent.name}/{name}: {worst}"


@pytest.mark.slow
def test_every_score_equals_the_oracles(data_root: Path, oracle_root: Path) -> None:
    oracle = json.loads((oracle_root / "classical.json").read_text())
    assert len(oracle) == 129

    def wrong(page: str) -> list[str]:
        year, name = page.split("/")
        truth = read_ink(data_root / year / "gt" / f"{name}.png")
        maps = weight_maps(truth)
        found = []
        for method in METHODS:
            got = score(read_ink(oracle_root / "predictions" / method / year / f"{name}.png"), truth, maps)
            for measure, limit in TOLERANCE.items():
                off = abs(getattr(got, measure) - oracle[page][method][measure])
                found += [f"{page} {method} {measure}: off by {off}"] if off > limit else []
        return found

    with ThreadPoolExecutor(2) as pool:
        assert [line for lines in pool.map(wrong, oracle) for line in lines] == []
