"""A model as an ONNX file: standard operators only, checked against torch before anything is written.

page      uint8 (batch, height, width, 3), RGB; any height and width
suppress  float32 (), as `--suppress`; 1 is the model's own choice
->  probability  float32 (batch, height, width), of ink
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor, nn

import drmamba
from drmamba.checkpoint import Provenance, header
from drmamba.config import Directions, EngineConfig, ModelConfig
from drmamba.errors import BackendError, CheckpointError, MissingExtra
from drmamba.files import write_atomic
from drmamba.inference import onnx_runtime
from drmamba.inference.models import load_model
from drmamba.inference.onnx_runtime import OnnxRuntime
from drmamba.inference.runtime import Windows
from drmamba.inference.torch_runtime import TorchRuntime
from drmamba.integrations.onnx_graph import AFTER, BEFORE, DOMAIN, IR, OPSET, SOFTPLUS, scan_function
from drmamba.model.efficientnet import SameConv2d
from drmamba.model.fuse import fused
from drmamba.model.network import STRIDE, DRMamba

TOLERANCE = 1e-4  # of a probability, between torch and the exported model
DIRECTIONS = (1, 4)  # directions whose scans are written as ONNX


def export(model: str | Path, path: str | Path) -> float:
    """Write the model behind a name to an ONNX file; the largest difference of a probability to torch.

    A file that differs by more than TOLERANCE, or that ONNX's own checker refuses, is never written.
    """
    _library(), onnx_runtime.library()  # told at once, not after the work
    network, provenance, sha256 = load_model(model, EngineConfig(runtime="torch"))
    if not isinstance(network, DRMamba):
        raise CheckpointError(f"{model} is not a network that can be exported")
    data = convert(network, provenance, sha256)
    difference = compare(network, data)
    if not difference <= TOLERANCE:  # also where it is not a number
        raise BackendError(
            f"the exported model differs from torch by {difference:.2g} in probability, {TOLERANCE:g} is allowed; "
            "nothing was written"
        )
    write_atomic(Path(path), data)
    return difference


def convert(network: DRMamba, provenance: Provenance, sha256: str = "") -> bytes:
    """The network as the bytes of an ONNX file that says where it comes from."""
    onnx = _library()
    _refuse(network.config)
    core = _exported(network)
    core.ir_version = IR
    core = _with_functions(core, network.config)
    model = onnx.compose.merge_models(onnx.parser.parse_model(BEFORE), core, [("image", "image")])
    model = onnx.compose.merge_models(
        model, onnx.parser.parse_model(AFTER), [("logits", "logits"), ("size", "size")]
    )
    model.producer_name, model.producer_version = "drmamba", drmamba.__version__
    model.doc_string = __doc__ or ""
    facts = header(network.config, provenance) | {"weights_sha256": sha256}
    onnx.helper.set_model_props(model, facts)
    del model.opset_import[:]
    model.opset_import.append(onnx.helper.make_opsetid("", OPSET))  # what else was there has been inlined
    model.graph.name = "drmamba"
    _strip(model.graph)
    onnx.checker.check_model(model, full_check=True)
    data: bytes = model.SerializeToString(deterministic=True)
    return data


def compare(network: DRMamba, data: bytes) -> float:
    """The largest difference of any probability between the network in torch and its export."""
    engine = EngineConfig(device="cpu", workers=1)
    exported, own = OnnxRuntime(data, engine), TorchRuntime(network, engine)
    lane, worst = fused(network), 0.0
    for windows, suppress in _trials():
        want = own.run(lane, windows, suppress)
        found = exported.run(None, windows, suppress)
        worst = float(np.maximum(worst, np.abs(want - found).max()))
    return worst


class Core(nn.Module):
    """The network on a whole number of steps, its scans left to be filled in."""

    def __init__(self, network: DRMamba) -> None:
        super().__init__()
        self.network = _plain(network)
        A_D, A_B = (rate.detach() for rate in network.block.rates())
        self.dual = network.config.block.routes == "dual"
        self.register_buffer("rates", torch.cat([A_D, A_B]) if self.dual else A_B, persistent=False)

    rates: Tensor

    def forward(self, image: Tensor, suppress: Tensor) -> Tensor:
        """(B, 3, H, W), H and W multiples of 32, to logits (B, H, W)."""
        network, block = self.network, self.network.block
        u = network.decoded(image)
        s, g, delta, beta = block.gated(u, suppress)
        b = g * s
        if self.dual:  # both routes ride in one scan
            delta, b = torch.cat([delta, delta], -1), torch.cat([b, g - b], -1)
        sums = torch.onnx.ops.symbolic(
            f"{DOMAIN}::Scans", (-delta * self.rates, b), dtype=b.dtype, shape=b.shape, version=1
        )
        D, B = sums.chunk(2, -1) if self.dual else (sums, sums)
        logits: Tensor = network.reconstruction(block.joined(u, D, block.scaled(B), beta), image)
        return logits


class SameConv(nn.Module):
    """TensorFlow's SAME padding at stride 2 as ONNX has it: in the convolution, the odd pixel behind."""

    def __init__(self, convolution: SameConv2d) -> None:
        super().__init__()
        self.weight, self.bias = convolution.weight, convolution.bias
        kernel, before = convolution.kernel_size[0], (convolution.kernel_size[0] - 2) // 2
        after = kernel - 2 - before
        self.attributes: Any = {
            "group": convolution.groups,
            "kernel_shape": [kernel, kernel],
            "pads": [before, before, after, after],
            "strides": [2, 2],
        }

    def forward(self, x: Tensor) -> Tensor:
        batch, _, height, width = x.shape
        shape = (batch, self.weight.shape[0], height // 2, width // 2)
        return torch.onnx.ops.symbolic(
            "Conv", (x, self.weight, self.bias), self.attributes, dtype=x.dtype, shape=shape
        )


def _plain(network: DRMamba) -> DRMamba:
    """The network as it runs, with what ONNX says better than torch put in its words."""
    network = fused(network).to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, SameConv2d) and child.stride[0] == 2:
                setattr(module, name, SameConv(child))
    return network


def _exported(network: DRMamba) -> Any:
    """The core as torch's exporter writes it, for any batch and any size in steps of 32."""
    if not hasattr(torch.onnx, "ops"):
        raise BackendError(f"the export needs torch 2.8 or newer, this is {torch.__version__}")
    dims = {0: torch.export.Dim("batch", min=1, max=4096)}
    dims |= {axis: STRIDE * torch.export.Dim(f"steps_{axis}", min=1, max=1024) for axis in (2, 3)}
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # of torch's exporter about itself
            program = torch.onnx.export(
                Core(network).eval(),
                (torch.rand(2, 3, 3 * STRIDE, 4 * STRIDE), torch.tensor(1.0)),
                dynamo=True,
                dynamic_shapes=(dims, None),
                input_names=["image", "suppress"],
                output_names=["logits"],
                opset_version=OPSET,
                verbose=False,
            )
    finally:
        log.setLevel(level)
    assert program is not None
    return program.model_proto


def _with_functions(model: Any, config: ModelConfig) -> Any:
    """The model with its own functions in place of calls to them."""
    onnx = _library()
    for node in model.graph.node:
        if node.op_type == "Softplus":
            node.domain = DOMAIN
    for text in (scan_function(config.block.directions), SOFTPLUS):
        model.functions.append(onnx.parser.parse_function(text))
    return onnx.inliner.inline_local_functions(model)


def _strip(graph: Any) -> None:
    """Take out what torch notes about where each node came from: lines of code, and paths of this machine."""
    for part in (graph, *graph.node, *graph.initializer, *graph.input, *graph.output):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    graph.ClearField("value_info")  # every runtime infers it


def _refuse(config: ModelConfig) -> None:
    if config.encoder == "vmamba_tiny" or config.block.directions not in DIRECTIONS:
        known = " or ".join(str(d) for d in get_args(Directions) if d in DIRECTIONS)
        raise BackendError(
            f"the encoder {config.encoder} with {config.block.directions} scan directions cannot be exported; "
            f"what can: {known} directions and any encoder but vmamba_tiny"
        )


def _trials() -> Iterator[tuple[Windows, float]]:
    """Noise and something like a page: whole windows, small and odd ones, a batch, other knobs."""
    rng = np.random.default_rng(0)
    yield rng.integers(0, 256, (1, 512, 512, 3), np.uint8), 1.0
    yield rng.integers(0, 256, (2, 64, 96, 3), np.uint8), 0.3
    for (height, width), suppress in (((512, 480), 1.0), ((75, 150), 2.0), ((1, 1), 1.0)):
        page = np.linspace(235, 150, width) + rng.normal(0, 5, (height, width))
        for top in range(4, height, 24):
            for left in range(4, width, 11):
                page[top : top + rng.integers(8, 18), left : left + rng.integers(2, 5)] -= rng.uniform(
                    50, 140
                )
        yield np.repeat(np.clip(page, 0, 255).astype(np.uint8)[None, :, :, None], 3, axis=3), suppress


def _library() -> Any:
    try:
        import onnx.compose
        import onnx.inliner
        import onnx.parser
        import onnxscript  # noqa: F401  torch's exporter needs it

        import onnx
    except ImportError as error:
        raise MissingExtra(str(error.name or "onnx"), "onnx") from error
    return onnx
