"""A model card: what a model is for, what it was trained on, its scores, its limits and its licence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from textwrap import fill
from typing import Any

from drmamba.checkpoint import Provenance
from drmamba.config import ModelConfig
from drmamba.experiments.report import CONTEST, HEADINGS, as_markdown, number

# Keys of provenance.metrics with the scores of a release's recipe: those of one model for each year, which that model
# did not see, or those of one model that saw none of several years.
FOLDS = "leave_one_year_out"
KEPT_OUT = "years_kept_out_together"
COLLECTIONS = "collections"  # key of the model's own scores on collections that it was not trained on
USAGE = "usage"  # key of what the recipe's scores lose when parts of the network are replaced
DEFAULT_FM = "everyday_fm"  # key of a fold's FM by the default protocol, as in the first model files

# What each training set is, and the terms of those who published it.
CONTEST_PAGES = "pages of the DIBCO and H-DIBCO contests", "published for research; no licence is stated"
TRAINING_SETS = {
    "synthetic": ("pages made by drmamba", "free"),
    "udiads_bib": (
        "medieval Latin and Syriac manuscripts (U-DIADS-Bib)",
        "published for research; no licence was found",
    ),
    "shipping_label": ("two photographed labels", "no licence was found"),
    "narc_finland": ("microfilm, typescript and print of the Finnish National Archive", "Apache-2.0"),
    "synchromedia_ms": (
        "single spectral bands of manuscripts",
        "published for research; no licence was found",
    ),
    "palm_leaf": ("palm-leaf manuscripts (AMADI)", "published for research; no licence was found"),
}
LIMITS_OF_ONE_CONVENTION = (
    "It takes ruled lines for paper where the contests do. Strokes wider than about 30 pixels, as in a headline above "
    "small print, are lost."
)
LIMITS_OF_BOTH_CONVENTIONS = (
    "With `--keep text`, the contests' idea of ink, rules, frames and stamps beside text are taken for paper; "
    "`--keep all` keeps them. Dotted lines and thin strokes beside a black margin may have gaps, writing that is much "
    "paler than other writing on its page may be lost, and bleed-through as dark as the text may stay."
)


def card(
    place: str,
    network: ModelConfig,
    provenance: Provenance,
    licence: str,
    digests: Mapping[str, str] | None = None,
) -> str:
    """Return the card of a model, from its provenance; `place` is OWNER/NAME on the Hub, or a preset's name.

    digests: the sha256 of each of the model's files, by name.
    """
    listed = "".join(f"| `{name}` | `{digest}` |\n" for name, digest in (digests or {}).items())
    files = f"## Files\n\n| file | sha256 |\n|---|---|\n{listed}\n" if listed else ""
    facts = {
        "license": licence,
        "library_name": "drmamba",
        "pipeline_tag": "image-segmentation",
        "tags": ["document-binarization", "dibco", "mamba", "ocr"],
        "model-index": _index(place, provenance),
    }
    # JSON is valid YAML, and one line per key is readable.
    front = "\n".join(f"{key}: {json.dumps(value)}" for key, value in facts.items() if value)
    held_out = f"\n\nThe year {provenance.held_out} was kept out." if provenance.held_out else ""
    both = "all" in network.conventions
    limits = fill(LIMITS_OF_BOTH_CONVENTIONS if both else LIMITS_OF_ONE_CONVENTION, 116)
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

{_data(provenance)}{held_out}

## Recipe

{(provenance.notes or "Not stated").rstrip(". ")}.

Preset `{provenance.preset}`, drmamba {provenance.version or "unknown"}, {provenance.date or "date unknown"}. All
settings of the network are in the model file's header.

## Scores

{_scores(provenance)}

{files}## Limits

The scores hold for the pages named above them; other material may give worse results. The network has learned from
scans of text: it is not meant for photographs, tonal drawings and colour prints. drmamba flags pages whose result is
doubtful (`drmamba binarize --report`); check those.

{limits}

## Licence

The licence of the weights is {licence}. The terms of those who published the training pages still apply to them.
"""


def _data(provenance: Provenance) -> str:
    """Return what the model was trained on, with the terms of each set where they are known."""
    if not provenance.data:
        return "It is not stated what the model was trained on."
    years = [name for name in provenance.data if len(name) == 4 and name.isdigit()]
    rows = [[", ".join(years), *CONTEST_PAGES]] if years else []
    others = [name for name in provenance.data if name not in years]
    rows += [[name, *TRAINING_SETS.get(name, ("not stated", "not stated"))] for name in others]
    lines = [f"| {' | '.join(row)} |" for row in (["set", "what it is", "terms"], ["---"] * 3, *rows)]
    return "\n".join(["The model was trained on these sets.", "", *lines])


def _scores(provenance: Provenance) -> str:
    parts = []
    if own_scores := provenance.metrics.get(COLLECTIONS):
        parts.append(
            "Mean FM of this file, before it was stored as float16, by the default protocol on collections "
            "of which no page was in its training:"
        )
        rows = [
            [name, str(means["pages"]), number(float(means["fm"])), _best(means)]
            for name, means in own_scores.items()
        ]
        parts.append(as_markdown(["collection", "pages", "FM", "best classical method"], rows))
    if folds := _recipe_scores(provenance):
        rows = [[year, *_row(means)] for year, means in folds["years"].items()]
        rows.append([f"average of {len(rows)}", *_row(folds["mean"])])
        without = (
            "without one year at a time, scored on the held-out year"
            if FOLDS in provenance.metrics
            else "without any page of these years, scored on them"
        )
        parts.append(
            f"These are scores of the recipe, not of this file: the same training {without}. This file was trained on "
            "pages of every year that is named under Data."
        )
        header = ["held-out year", "pages", *(HEADINGS[m] for m in CONTEST), "FM, default protocol"]
        parts.append(as_markdown(header, rows))
        parts.append(
            "The default protocol is how `drmamba binarize` runs the model. The other scores are by the paper's "
            "protocol."
        )
        parts += folds.get("notes", [])
    if usage := provenance.metrics.get(USAGE):
        unseen = ", ".join(usage["years"])
        parts.append(
            f"What each part of the network contributes, in a model of the recipe that has not seen {unseen}: FM on "
            "these years by windows alone, and the pixels that change, when the part is replaced."
        )
        rows = [
            [name, number(row["fm"]), f"{row['difference']:+.2f}", number(row["pixels"])]
            for name, row in usage["parts"].items()
        ]
        parts.append(as_markdown(["replaced", "FM", "change", "pixels changed, %"], rows))
    own = {HEADINGS[m]: provenance.metrics[m] for m in CONTEST if m in provenance.metrics}
    if own and provenance.held_out:
        parts.append(f"Mean over the pages of the held-out year {provenance.held_out}:")
        parts.append(as_markdown(["score", "value"], [[name, number(float(v))] for name, v in own.items()]))
    elif (seen := provenance.metrics.get("validation_fm")) is not None:
        parts.append(f"FM on validation pages of the training years: {number(float(seen))}.")
    return "\n\n".join(parts) or "No scores are stated."


def _recipe_scores(provenance: Provenance) -> dict[str, Any] | None:
    found: dict[str, Any] | None = provenance.metrics.get(FOLDS) or provenance.metrics.get(KEPT_OUT)
    return found


def _best(means: dict[str, Any]) -> str:
    return f"{number(float(means['best_fm']))} ({means['best']})" if "best" in means else "-"


def _row(means: dict[str, Any]) -> list[str]:
    default = means.get(DEFAULT_FM)
    measured = [number(float(means[m])) for m in CONTEST]
    return [str(means["pages"]), *measured, number(None if default is None else float(default))]


def _index(place: str, provenance: Provenance) -> list[dict[str, Any]]:
    """Return the scores on held-out pages in the form that the Hub reads."""
    if folds := _recipe_scores(provenance):
        kept_out = f"DIBCO {', '.join(folds['years'])}, kept out together"
        name = "DIBCO, leave one year out" if FOLDS in provenance.metrics else kept_out
        means = folds["mean"]
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
