"""Small made-up years to train on, and a very small network."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from drmamba.config import RunConfig, recipe, replace_values


def write_page(root: Path, year: str, name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ink = np.zeros((96, 128), bool)
    for _ in range(12):
        y, x = rng.integers(4, 88), rng.integers(4, 90)
        ink[y : y + rng.integers(2, 4), x : x + rng.integers(10, 36)] = True
    paper = np.linspace(150, 230, 128)[None, :, None] + rng.normal(0, 6, (96, 128, 3))
    image = np.where(ink[..., None], paper - 110, paper).clip(0, 255).astype(np.uint8)
    for part, picture in (("img", Image.fromarray(image)), ("gt", Image.fromarray(~ink))):
        folder = root / year / part
        folder.mkdir(parents=True, exist_ok=True)
        picture.save(folder / f"{name}.png")


@pytest.fixture
def years(tmp_path: Path) -> Path:
    """Three years of two pages."""
    root = tmp_path / "years"
    for number, year in enumerate(("2001", "2002", "2003")):
        for page in range(2):
            write_page(root, year, f"P{page}", 10 * number + page)
    return root


@pytest.fixture
def quick(years: Path, small_encoder: None) -> RunConfig:  # noqa: ARG001
    """Six updates of a very small network, holding 2003 out."""
    return replace_values(
        recipe("lite"),
        {
            "source": {"data": str(years), "hold_out": "2003"},
            "model": {
                "encoder": "convnext_atto",
                "decoder": [16, 16, 16],
                "block": {"width": 16},
                "detail": {"width": 8, "head_width": 8, "dilations": [1]},
            },
            "data": {"crop": 64, "zoom": [0.9, 1.1], "region": {"side": 128}},
            "train": {"steps": 6, "batch": 4, "threads": 2, "validations": 1, "precision": "float32"},
        },
    )


MakeBatch = Callable[..., dict[str, torch.Tensor]]


@pytest.fixture
def batch() -> MakeBatch:
    """Makes a batch with one stroke a page, by seed."""
    return make_batch


def make_batch(seed: int = 0, size: int = 2) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    ink = torch.zeros(size, 64, 64)
    ink[:, 20:24, 8:56] = 1
    image = 0.8 - 0.6 * ink[:, None] + 0.05 * torch.randn(size, 3, 64, 64, generator=generator)
    return {
        "image": image,
        "ink": ink,
        "distance": (2 * ink - 1) * 0.4,
        "skeleton": ink,
        "band": torch.ones_like(ink),
    }
