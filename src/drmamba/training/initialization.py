"""The initial network of a run: random, with a pretrained encoder, or from another model."""

from __future__ import annotations

from pathlib import Path

import torch

from drmamba.checkpoint import read_tensors
from drmamba.config import RunConfig
from drmamba.errors import CheckpointError
from drmamba.model.network import DRMamba
from drmamba.model.pretrained import load_encoder_weights


def initial_network(config: RunConfig, *, weights: bool = True) -> DRMamba:
    """Build the network from the run's seed and load its initial weights, unless a checkpoint will replace them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.train.seed)
        network = DRMamba(config.model)
    if weights and config.source.encoder_weights and not config.source.init:
        load_encoder_weights(network, config.source.encoder_weights)
    if weights and config.source.init:
        copy_fitting(network, Path(config.source.init))
    return network


def copy_fitting(network: DRMamba, path: Path) -> list[str]:
    """Copy every tensor of a model that fits by name and shape; returns the names of all others.

    The model may have another block or head, because ablations share a pretrained encoder, but not another encoder.
    """
    own, found = network.state_dict(), read_tensors(path)
    fitting = {name: value for name, value in found.items() if name in own and own[name].shape == value.shape}
    missing = [name for name in own if name.startswith("encoder.") and name not in fitting]
    if missing:
        raise CheckpointError(
            f"{path} has another encoder: {len(missing)} tensors do not fit, the first is {missing[0]}"
        )
    network.load_state_dict(
        {name: value.to(own[name].dtype) for name, value in fitting.items()}, strict=False
    )
    return [name for name in own if name not in fitting]
