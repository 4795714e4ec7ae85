"""A model card: what a model is for, what it was trained on, its scores, its limits, its licence."""

from __future__ import annotations

import json
from typing import Any

from drmamba.checkpoint import Provenance
from drmamba.config import ModelConfig
from drmamba.experiments.report import CONTEST, HEADINGS, as_markdown, number

# Keys of provenance.metrics: the scores of a release's folds; and in them, FM as `drmamba binarize` runs a model.
FOLDS, EVERYDAY = "leave_one_year_out", "everyday_fm"


def card(place: str, network: ModelConfig, provenance: Provenance, licence: str) -> str:
    """The card, written from what the model says about itself; `place` is OWNER/NAME on the Hub or a preset's name."""
    facts = {
        "license": licence,
        "library_name": "drmamba",
        "pipeline_tag": "image-segmentation",
        "tags": ["document-binarization", "dibco", "mamba", "ocr"],
        "model-index": _index(place, provenance),
    }
    # JSON is YAML; one line a key keeps it readable.
    front = "\n".join(f"{key}: {json.dumps(value)}" for key, value in facts.items() if value)
    data = ", ".join(provenance.data) or "not stated"
    held_out = f" The year {provenance.held_out} was kept out of it." if provenance.held_out else ""
    pin = f"Pin a commit with `{place}@SHA` where results must not change.\n\n" if "/" in place else ""
    return f"""---
{front}
---

# {place.split("/")[-1]}

Turns degraded document scans into clean black-and-white pages. A `{provenance.preset}` DR-Mamba network
(encoder {network.encoder}) for [drmamba](https://pypi.org/project/drmamba/).

```python
from drmamba import Binarizer

page = Binarizer.from_pretrained("{place}")("scan.jpg")
page.save("scan.png")
```

    drmamba binarize scans -o pages --model {place}

{pin}## Data

Trained on: {data}.{held_out}

## Recipe

{(provenance.notes or "Not stated").rstrip(". ")}.

Preset `{provenance.preset}`, drmamba {provenance.version or "unknown"}, {provenance.date or "date unknown"}. All
settings of the network are in the model file's header.

## Scores

{_scores(provenance)}

## Limits

The scores are of the pages named above them; other material may come out worse. The network has learned from scans of
text: photographs, drawings in tone and colour prints are not its subject, and ruled lines count as paper where the
contests' do. Strokes wider than some 30 pixels, of a headline above small print, are lost. drmamba flags pages whose
result is doubtful (`drmamba binarize --report`); look at those.

## Licence

The weights: {licence}. The pages they were trained on stay under the terms of those who published them.
"""


def _scores(provenance: Provenance) -> str:
    parts = []
    if folds := provenance.metrics.get(FOLDS):
        rows = [[year, *_row(means)] for year, means in folds["years"].items()]
        rows.append([f"average of {len(rows)}", *_row(folds["mean"])])
        parts.append(
            "Of the recipe, not of this file: the same training without one year at a time, scored on the year it "
            "never saw. This file has seen pages of every year that it names under Data."
        )
        header = ["held-out year", "pages", *(HEADINGS[m] for m in CONTEST), "FM, everyday"]
        parts.append(as_markdown(header, rows))
        parts.append(
            "Everyday: as `drmamba binarize` runs the model. The other scores are of the paper's protocol."
        )
        parts += folds.get("notes", [])
    own = {HEADINGS[m]: provenance.metrics[m] for m in CONTEST if m in provenance.metrics}
    if own and provenance.held_out:
        parts.append(f"Mean over the pages of the unseen year {provenance.held_out}:")
        parts.append(as_markdown(["score", "value"], [[name, number(float(v))] for name, v in own.items()]))
    elif (seen := provenance.metrics.get("validation_fm")) is not None:
        parts.append(f"FM on validation pages of the training years: {number(float(seen))}.")
    return "\n\n".join(parts) or "None are stated."


def _row(means: dict[str, Any]) -> list[str]:
    everyday = means.get(EVERYDAY)
    measured = [number(float(means[m])) for m in CONTEST]
    return [str(means["pages"]), *measured, number(None if everyday is None else float(everyday))]


def _index(place: str, provenance: Provenance) -> list[dict[str, Any]]:
    """The scores on unseen pages as the Hub reads them."""
    if folds := provenance.metrics.get(FOLDS):
        name, means = "DIBCO, leave one year out", folds["mean"]
    elif provenance.held_out:
        name, means = f"DIBCO {provenance.held_out}", provenance.metrics
    else:
        return []
    values = [
        {"type": m, "name": HEADINGS[m], "value": round(float(means[m]), 2)} for m in CONTEST if m in means
    ]
    result = {
        "task": {"type": "image-segmentation", "name": "document binarization"},
        "dataset": {"type": "dibco", "name": name},
        "metrics": values,
    }
    return [{"name": place.split("/")[-1], "results": [result]}] if values else []
