"""A network of one line and pages to go with it, for tests of everything around a network."""

import numpy as np
import torch
from PIL import Image
from torch import nn

from drmamba.checkpoint import Provenance
from drmamba.config import EngineConfig, InferenceConfig
from drmamba.inference.binarizer import Binarizer
from drmamba.model.network import Output


class Darkness(nn.Module):
    """Ink is what is darker than the middle; `suppress` shifts what counts as dark."""

    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor(20.0))

    def forward(self, image, *, suppress=1.0, maps=False):  # noqa: ARG002
        logits = (0.5 - 0.2 * (suppress - 1) - image.mean(1)) * self.slope
        return Output(logits, (logits,), None)


def binarizer(config=None, **engine):
    engine = EngineConfig(**{"device": "cpu", "workers": 2} | engine)
    return Binarizer(
        Darkness(),
        config=config or InferenceConfig(),
        engine=engine,
        provenance=Provenance(trained=True),
        sha256="dark",
    )


def darkness(window):
    """Predict from single pixels, so that blending must give the page back exactly."""
    return 1 - window[:, :, 1].astype(np.float32) / 255


def text_page(height=150, width=200, *, stroke=4, ink=30, paper=220, seed=0, noise=4.0):
    """Return rows of upright strokes on noisy paper, which the analysis should recognise as text."""
    rng = np.random.default_rng(seed)
    page = rng.normal(paper, noise, (height, width))
    step = 4 * stroke
    for top in range(2 * stroke, height - 6 * stroke, 9 * stroke):
        for left in range(2 * stroke, width - 2 * stroke, step):
            if rng.random() < 0.85:
                tall = int(stroke * rng.uniform(3, 6))
                page[top : top + tall, left : left + stroke] = rng.normal(ink, noise, (1, 1))
                if rng.random() < 0.4:
                    page[top : top + stroke, left : left + 3 * stroke] = ink
    return np.clip(page, 0, 255).astype(np.uint8)


def save(path, array, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(array).save(path, **options)
    return path
