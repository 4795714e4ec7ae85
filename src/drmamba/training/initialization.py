"""The initial network of a run: random, with a pretrained encoder, or from another model.

Networks that differ in a few settings start with equal values in all tensors that both have: every tensor outside the
encoder is drawn from a generator of its own, so that an additional tensor does not change the others. The encoder is
drawn first and as a whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from drmamba.checkpoint import read_header, read_tensors
from drmamba.config import RunConfig
from drmamba.errors import CheckpointError, ConfigError
from drmamba.files import file_identity
from drmamba.model.network import CONVENTION_STD, DRMamba
from drmamba.model.pretrained import RANDOM, load_encoder_weights
from drmamba.model.tensor_parts import WHOLE, tensor_parts

ENCODER = "encoder."  # prefix of the names of the encoder's tensors
RESTING_LEVEL = "block.B_0"  # name of the tensor B_0 of a centred block


def initial_network(config: RunConfig, *, weights: bool = True) -> DRMamba:
    """Build the network from the run's seed and load its initial weights, unless a checkpoint will replace them."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.train.seed)
        network = DRMamba(config.model)
    draw_by_name(network, config.train.seed)
    if weights:
        load_initial_weights(network, config)
    return network


def load_initial_weights(network: DRMamba, config: RunConfig) -> str:
    """Load the weights that the run starts from, if any; returns the origin of the encoder's."""
    source = config.source
    if source.init:
        copy_fitting(network, Path(source.init), source.init_parts)
        copied = not source.init_parts or "encoder" in source.init_parts
        return file_identity(source.init) if copied else RANDOM
    return load_encoder_weights(network, source.encoder_weights) if source.encoder_weights else RANDOM


@torch.no_grad()
def draw_by_name(network: DRMamba, seed: int) -> None:
    """Draw the random tensors outside the encoder again, each part of a tensor from its name and the seed alone.

    The distributions are torch's own: uniform between -1 / sqrt(n) and 1 / sqrt(n) for layers with n inputs. Tensors
    that do not start at random, such as those that start at zero, stay as they are.
    """
    parts = tensor_parts(network.config)
    for module_name, module in network.named_modules():
        if f"{module_name}.".startswith(ENCODER):
            continue
        if isinstance(module, nn.Conv2d | nn.Linear) and module.weight.any():
            bound = module.weight[0].numel() ** -0.5
            for name, tensor in module.named_parameters(module_name, recurse=False):
                for part, view in parts.get(name, WHOLE).of(tensor).items():
                    view.copy_(_uniform(view, name, part, seed) * bound)
        elif isinstance(module, nn.Embedding) and module.weight.any():
            drawn = torch.randn(module.weight.shape, generator=_generator(f"{module_name}.weight", "", seed))
            module.weight.copy_(drawn * CONVENTION_STD)
    network.block.start_balanced()


def _uniform(like: Tensor, name: str, part: str, seed: int) -> Tensor:
    """Numbers between -1 and 1."""
    return torch.rand(like.shape, generator=_generator(name, part, seed)) * 2 - 1


def _generator(name: str, part: str, seed: int) -> torch.Generator:
    digest = hashlib.sha256(f"{seed}/{name}/{part}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)


@torch.no_grad()
def copy_fitting(network: DRMamba, path: Path, only: Sequence[str] = ()) -> list[str]:
    """Copy every tensor that fits by name, shape and meaning; returns the names of those that are not complete.

    Of a tensor with several parts, such as the gates' projections, the parts that both networks have are copied. The
    model may have another block or head, because ablations share a pretrained encoder, but not another encoder. `only`
    names the parts of the network to copy, such as encoder and decoder; none stands for all.
    """
    own, found = network.state_dict(), read_tensors(path)
    broken = sorted(name for name, tensor in found.items() if not tensor.isfinite().all())
    if broken:
        raise CheckpointError(
            f"{path} holds values that are not finite numbers, in {', '.join(broken[:3])}; start from another model"
        )
    unknown = set(only) - {name.partition(".")[0] for name in own}
    if unknown:
        raise ConfigError(f"source.init_parts: the network has no part {', '.join(sorted(unknown))}")
    config = read_header(path)[0]
    own_parts, found_parts = tensor_parts(network.config), tensor_parts(config)
    if RESTING_LEVEL in found:  # a sum over the scan orders
        found[RESTING_LEVEL] *= network.config.block.directions / config.block.directions
    incomplete = []
    for name, tensor in own.items():
        if only and name.partition(".")[0] not in only:
            incomplete.append(name)
            continue
        wanted = own_parts.get(name, WHOLE).of(tensor)
        given = found_parts.get(name, WHOLE).of(found[name]) if name in found else {}
        fitting = [part for part in wanted if part in given and given[part].shape == wanted[part].shape]
        for part in fitting:
            wanted[part].copy_(given[part])
        if len(fitting) < len(wanted):
            incomplete.append(name)
    missing = [name for name in incomplete if name.startswith(ENCODER)]
    if missing and (not only or "encoder" in only):
        raise CheckpointError(
            f"{path} has another encoder: {len(missing)} tensors do not fit, the first is {missing[0]}"
        )
    return incomplete
