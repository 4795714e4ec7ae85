"""Mean scores of a fold's model by the default protocol, which is how `drmamba binarize` runs it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from drmamba import checkpoint
from drmamba.config import PROTOCOLS
from drmamba.data.dibco import Pair
from drmamba.experiments.report import as_json, write_text
from drmamba.files import sha256
from drmamba.training.run_data import evaluation_pages
from drmamba.training.scoring import final_scores

DEFAULT_PROTOCOL = PROTOCOLS["default"]
STORED = "everyday.json"  # file in a fold's folder; the name is as old as the first folds


def default_means(model: Path, pairs: Sequence[Pair], path: Path, device: str = "auto") -> dict[str, float]:
    """Return the model's mean scores over the pages.

    They are stored in the file `path`, and read from there as long as model, settings and pages are the same.
    """
    facts: dict[str, Any] = {
        "model_sha256": sha256(model),
        "settings": asdict(DEFAULT_PROTOCOL),
        "pages": [pair.label for pair in pairs],
    }
    if path.is_file():
        known = json.loads(path.read_text())
        if all(known.get(name) == value for name, value in facts.items()):
            return dict(known["scores"]["mean"])
    network, _ = checkpoint.load(model)
    scores = final_scores(network, evaluation_pages(pairs), device=device, config=DEFAULT_PROTOCOL)
    write_text(path, as_json({**facts, "scores": scores}))
    return dict(scores["mean"])
