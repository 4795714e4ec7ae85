"""A small data set, and somebody's predictions of its pages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from drmamba import checkpoint
from drmamba.config import BlockConfig, DetailConfig, ModelConfig
from drmamba.experiments.benchmark.run import choose_pairs
from drmamba.images import read_ink, write_ink
from drmamba.model.network import DRMamba


def make_root(root: Path) -> Path:
    rng = np.random.default_rng(0)
    for year, names in (("2009", ("H01", "H02")), ("2019", ("A01",))):
        for name in names:
            truth = np.zeros((64, 96), bool)
            truth[12:18, 8:88] = truth[40:44, 8:60] = True
            page = np.where(truth, 70, 210) + rng.normal(0, 25, truth.shape)
            for kind in ("img", "gt"):
                (root / year / kind).mkdir(parents=True, exist_ok=True)
            Image.fromarray(page.clip(0, 255).astype(np.uint8)).save(root / year / "img" / f"{name}.png")
            write_ink(root / year / "gt" / f"{name}.png", truth)
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path / "data")


@pytest.fixture
def own(root: Path, tmp_path: Path) -> Path:
    """Somebody's predictions: the ground truth, moved by one pixel."""
    for pair in choose_pairs(root)[0]:
        path = tmp_path / "own" / pair.year / f"{pair.name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_ink(path, np.roll(read_ink(pair.truth), 1, 0))
    return tmp_path / "own"


@pytest.fixture
def small_model() -> Callable[..., Path]:
    """Return a function that writes a small network to a file, with the given provenance."""

    def save(path: Path, **origin: Any) -> Path:
        config = ModelConfig(
            encoder="efficientnet_lite0",
            decoder=(8, 8, 8),
            block=BlockConfig(width=8),
            detail=DetailConfig(width=8, head_width=8, dilations=(1,), fold=2),
        )
        checkpoint.save(path, DRMamba(config), checkpoint.Provenance(**origin))
        return path

    return save
