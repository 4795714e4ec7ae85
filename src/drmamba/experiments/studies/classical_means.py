"""Mean scores of the classical methods on a fold's held-out pages, to print beside the network's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from drmamba.data.dibco import Pair
from drmamba.experiments.baselines import binarize, grey, library_version
from drmamba.experiments.report import as_json, write_text
from drmamba.images import read_ink, read_rgb
from drmamba.metrics import score, summarize

ClassicalMeans = dict[str, dict[str, float]]  # method -> measure -> mean over the pages


def classical_means(pairs: Sequence[Pair], methods: Iterable[str], path: Path) -> ClassicalMeans:
    """Return the mean scores of each method over the pages.

    They are stored in the file `path`, and read from there as long as the library and the pages are the same.
    """
    methods = list(methods)
    facts: dict[str, Any] = {"library": library_version(), "pages": [pair.label for pair in pairs]}
    if path.is_file():
        known = json.loads(path.read_text())
        unchanged = all(known.get(name) == value for name, value in facts.items())
        if unchanged and set(methods) <= set(known["means"]):
            return {method: known["means"][method] for method in methods}
    scored: dict[str, list[Any]] = {method: [] for method in methods}
    for pair in pairs:
        page, truth = grey(read_rgb(pair.image)), read_ink(pair.truth)
        for method in methods:
            scored[method].append(score(binarize(method, page), truth))
    means = {method: dict(summarize(rows).mean) for method, rows in scored.items()}
    write_text(path, as_json({**facts, "means": means}))
    return means
