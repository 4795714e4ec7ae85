"""A miniature network learns from made-up pages and must beat Otsu's threshold on pages that it never saw.

The pages are of the four kinds of running text. A hundred updates are too few to learn all kinds of pages, drawings,
maps and photographs among them: there the miniature reaches an FM of 51, and Otsu's threshold 76.
"""

import numpy as np
import pytest

from drmamba.config import PAGE_KINDS, RunConfig, recipe, replace_values
from drmamba.metrics import count
from drmamba.metrics.counts import f_measure
from drmamba.training import run_data
from drmamba.training.batch_loader import BatchLoader
from drmamba.training.initialization import initial_network
from drmamba.training.learner import Learner
from drmamba.training.run_data import RunData
from drmamba.training.scoring import mean_fm

STEPS = 120
TEXT = ("print", "script", "pen", "papyrus")
# On pages that are hardly degraded, Otsu's threshold needs no network beside it.
DEGRADED = {"untouched": 0.0, "clean": 0.0, "bleed_through": 0.7, "stain": 0.7, "illumination": 0.8}


def miniature() -> RunConfig:
    return replace_values(
        recipe("lite"),
        {
            "source": {"data": "synthetic"},
            "model": {
                "encoder": "convnext_atto",
                "decoder": [32, 24, 24],
                "block": {"width": 16},
                "detail": {"width": 16, "head_width": 16, "dilations": [1], "fold": 2},
            },
            "data": {
                "crop": 96,
                "region": {"side": 192},
                "synthetic": {**{kind: 0.0 for kind in PAGE_KINDS if kind not in TEXT}, "degrade": DEGRADED},
            },
            "train": {"steps": STEPS, "batch": 4, "learning_rate": 2e-3},
        },
    )


def otsu(image: np.ndarray) -> np.ndarray:
    """Ink by Otsu's threshold, which separates the grey levels best."""
    grey = image.mean(2).round().astype(int)
    counts = np.bincount(grey.ravel(), minlength=256).astype(float)
    below, levels = counts.cumsum(), (counts * np.arange(256)).cumsum()
    above = below[-1] - below
    with np.errstate(all="ignore"):
        between = below * above * (levels / below - (levels[-1] - levels) / above) ** 2
    return grey <= int(np.nanargmax(between))


@pytest.mark.slow
def test_a_miniature_beats_otsu_on_unseen_degraded_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_data, "VALIDATION_PAGES", 6)
    data = RunData.of(miniature())
    learner = Learner(initial_network(data.config), data.config)
    loader = BatchLoader(data.crops(), 0, data.config.train.batch)
    reports = [learner.update(step, loader.take(1), step / STEPS) for step in range(STEPS)]
    loader.close()
    losses = [report.parts["bce"] for report in reports]
    assert np.mean(losses[-20:]) < 0.6 * np.mean(losses[:20])
    pages = data.validation
    *_, (ours, _) = mean_fm(learner.averaged(), pages)
    theirs = np.mean([f_measure(count(otsu(page.read()[0]), page.read()[1])) for page in pages])
    print(f"miniature {ours:.1f}, Otsu {theirs:.1f}")
    assert ours > theirs + 3
