"""Publishing a model on the Hugging Face Hub: weights, config, and a card that states their origin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from drmamba.checkpoint import FORMAT, Provenance, read_header
from drmamba.config import DEFAULT_MODEL, EngineConfig, ModelConfig, PushConfig
from drmamba.errors import CheckpointError, ConfigError
from drmamba.files import sha256
from drmamba.inference.models import find_model
from drmamba.inference.runtime.onnx import OnnxRuntime
from drmamba.integrations.card import card
from drmamba.model.hub_files import EXPORTED, WEIGHTS, parse_id, upload


def push(
    repository: str,
    model: str | Path = DEFAULT_MODEL,
    config: PushConfig | None = None,
    onnx: Path | None = None,
) -> str:
    """Publish a trained model on the Hub, and return `owner/name@sha`.

    The repository is created if there is none. `onnx` is an exported file, which is published as `model.onnx`.
    All files are part of one commit.
    """
    config = config or PushConfig()
    name = parse_id(repository)
    if name is None or name[1] is not None:
        raise ConfigError(f"{repository!r} is not a repository on the Hub; give it as OWNER/NAME")
    path = find_model(model, EngineConfig(runtime="torch"))
    if path is None:
        raise CheckpointError(f"there are no weights of {str(model)!r} to push; give a trained model file")
    network, provenance = read_header(path)
    if not provenance.trained:
        raise CheckpointError(f"{path} is untrained, so nobody could use it")
    files = {
        WEIGHTS: path.read_bytes(),
        "config.json": json.dumps(_config(network, provenance), indent=2).encode(),
        "README.md": card(name[0], network, provenance, config.licence).encode(),
    }
    if onnx is not None:
        exported = OnnxRuntime(onnx, EngineConfig(workers=1))
        if exported.weights_sha256 != sha256(path):
            raise CheckpointError(
                f"{onnx} was not exported from {path}; export it again with `drmamba export`"
            )
        files[EXPORTED] = onnx.read_bytes()
    commit = upload(name[0], files, message=config.message, private=config.private, revision=config.branch)
    return f"{name[0]}@{commit}"


def _config(network: ModelConfig, provenance: Provenance) -> dict[str, Any]:
    return {
        "model_type": "drmamba",
        "format": FORMAT,
        "config": network.to_dict(),
        "provenance": provenance.to_dict(),
    }
