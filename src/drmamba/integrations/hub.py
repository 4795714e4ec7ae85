"""A model on the Hugging Face Hub: weights, config, and a card that says where they come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from drmamba.checkpoint import FORMAT, Provenance, read_header, sha256
from drmamba.config import EngineConfig, ModelConfig, PushConfig
from drmamba.errors import CheckpointError, ConfigError
from drmamba.inference.models import find_model
from drmamba.inference.onnx_runtime import OnnxRuntime
from drmamba.model.hub import WEIGHTS, parse_id, upload

SCORES = {"fm": "FM", "pfm": "p-FM", "psnr": "PSNR", "drd": "DRD", "validation_fm": "FM, validation"}


def push(
    repository: str, model: str | Path = "lite", config: PushConfig | None = None, onnx: Path | None = None
) -> str:
    """Put a trained model on the Hub, the repository made if there is none; returns `owner/name@sha`.

    With `onnx`, an exported file, that goes along as `model.onnx`. All files arrive in one commit.
    """
    config = config or PushConfig()
    name = parse_id(repository)
    if name is None or name[1] is not None:
        raise ConfigError(f"{repository!r} is no place on the Hub; give it as OWNER/NAME")
    path = find_model(model)
    if path is None:
        raise CheckpointError(f"there are no weights of {str(model)!r} to push; give a trained model file")
    network, provenance = read_header(path)
    if not provenance.trained:
        raise CheckpointError(f"{path} is untrained; nobody could use it")
    files = {
        WEIGHTS: path.read_bytes(),
        "config.json": json.dumps(_config(network, provenance), indent=2).encode(),
        "README.md": card(name[0], network, provenance, config.licence).encode(),
    }
    if onnx is not None:
        exported = OnnxRuntime(onnx, EngineConfig(workers=1))
        if exported.weights_sha256 != sha256(path):
            raise CheckpointError(f"{onnx} was not exported from {path}; do that anew with `drmamba export`")
        files["model.onnx"] = onnx.read_bytes()
    commit = upload(name[0], files, message=config.message, private=config.private, revision=config.branch)
    return f"{name[0]}@{commit}"


def card(repository: str, network: ModelConfig, provenance: Provenance, licence: str) -> str:
    """The model card: what it is for, what it was trained on, its scores, its limits, its licence."""
    facts = {
        "license": licence,
        "library_name": "drmamba",
        "pipeline_tag": "image-segmentation",
        "tags": ["document-binarization", "dibco", "mamba", "ocr"],
        "model-index": _index(repository, provenance),
    }
    # JSON is YAML; one line a key keeps it readable.
    front = "\n".join(f"{key}: {json.dumps(value)}" for key, value in facts.items() if value)
    data = ", ".join(provenance.data) or "not stated"
    held_out = f" The year {provenance.held_out} was kept out of it." if provenance.held_out else ""
    return f"""---
{front}
---

# {repository.split("/")[1]}

Turns degraded document scans into clean black-and-white pages. A `{provenance.preset}` DR-Mamba network
(encoder {network.encoder}) for [drmamba](https://pypi.org/project/drmamba/).

```python
from drmamba import Binarizer

page = Binarizer.from_pretrained("{repository}")("scan.jpg")
page.save("scan.png")
```

    drmamba binarize scans -o pages --model {repository}

Pin a commit with `{repository}@SHA` where results must not change.

## Data

Trained on: {data}.{held_out}

## Recipe

{provenance.notes or "Not stated."} Preset `{provenance.preset}`, drmamba {provenance.version or "unknown"},
{provenance.date or "date unknown"}. All settings of the network are in `config.json`, and inside `{WEIGHTS}`.

## Scores

{_scores(provenance)}

## Limits

The scores are of the pages named above them; other material may come out worse. The network has learned from scans of
text: photographs, drawings in tone and colour prints are not its subject. drmamba flags pages whose result is doubtful
(`drmamba binarize --report`); look at those.

## Licence

The weights: {licence}. The pages they were trained on stay under the terms of those who published them.
"""


def _config(network: ModelConfig, provenance: Provenance) -> dict[str, Any]:
    return {
        "model_type": "drmamba",
        "format": FORMAT,
        "config": network.to_dict(),
        "provenance": provenance.to_dict(),
    }


def _known(provenance: Provenance) -> dict[str, float]:
    """Scores with a name, to two digits."""
    numbers = {key: provenance.metrics.get(key) for key in SCORES}
    return {key: round(float(v), 2) for key, v in numbers.items() if isinstance(v, int | float)}


def _scores(provenance: Provenance) -> str:
    known = _known(provenance)
    if not known:
        return "None are stated."
    where = f"on the unseen year {provenance.held_out}" if provenance.held_out else "on validation pages"
    rows = "\n".join(f"| {SCORES[key]} | {value} |" for key, value in known.items())
    return f"Mean over pages, {where} unless said otherwise:\n\n| score | value |\n|---|---|\n{rows}"


def _index(repository: str, provenance: Provenance) -> list[dict[str, Any]]:
    """The scores on unseen pages as the Hub reads them."""
    known = {key: value for key, value in _known(provenance).items() if key != "validation_fm"}
    if not known or not provenance.held_out:
        return []
    result = {
        "task": {"type": "image-segmentation", "name": "document binarization"},
        "dataset": {"type": "dibco", "name": f"DIBCO {provenance.held_out}"},
        "metrics": [{"type": key, "name": SCORES[key], "value": value} for key, value in known.items()],
    }
    return [{"name": repository.split("/")[1], "results": [result]}]
