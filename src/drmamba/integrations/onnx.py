"""The export of a model to ONNX: standard operators only, compared with torch before a file is written.

page        uint8 (batch, height, width, 3), RGB; any height and width
suppress    float32 (), as `--suppress`; 1 is the model's own choice
convention  int64 (), the index of an ink convention; only in models that know several
context_3   float32 (batch, C3, rows / 16, columns / 16), only in models with page context: the page's features under
            each window, where rows and columns are the window's height and width padded to multiples of 32; zeros
            for windows without a page
context_4   float32 (batch, C4, rows / 32, columns / 32), likewise
explain     bool (), whether the maps are computed; it may be left out and is false then
->  probability  float32 (batch, height, width), of ink
    maps         float32 (batch, 4, rows / 4, columns / 4): D, B, beta and beta * B at suppress = 1, each the mean over
                 the channels of the block; empty unless `explain` is true
    features_3, features_4  only in models with page context: F_3 and F_4 of `page`, which is a whole page, reduced

A model with page context computes the features of a whole page if the context is empty, (0, C3, 0, 0) and
(0, C4, 0, 0); the probability and the maps are empty then. If there is a context, the features are empty.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import drmamba
from drmamba.checkpoint import Provenance, header
from drmamba.config import STRIDES, Directions, EngineConfig, ExportPrecision, ModelConfig
from drmamba.errors import BackendError, CheckpointError, MissingExtra
from drmamba.files import write_atomic
from drmamba.inference.models import load_model
from drmamba.inference.runtime.base import ReducedPage, Windows
from drmamba.inference.runtime.onnx import OnnxRuntime
from drmamba.inference.runtime.torch import TorchRuntime
from drmamba.integrations.onnx_core import Core
from drmamba.integrations.onnx_graph import (
    AFTER,
    BEFORE,
    IR,
    MAPS,
    OPSET,
    jobs,
    scan_function,
    split_by_job,
)
from drmamba.integrations.onnx_modules import LEVELS
from drmamba.model.cost import gflops, parameters
from drmamba.model.fuse import fused
from drmamba.model.network import DRMamba

TOLERANCE = 1e-4  # largest difference of a probability between torch and the exported model
INT8_TOLERANCE = 0.02  # mean difference of a probability between torch and a model that is exported in int8
DIRECTIONS = (1, 4)  # numbers of scan directions that can be exported


def export(model: str | Path, path: str | Path, precision: ExportPrecision = "float32") -> float:
    """Write a model to an ONNX file; return the difference of its probabilities from torch.

    In float32 it is the largest difference, in int8 the mean. No file is written if it is larger than the tolerance of
    the precision, or if ONNX's own checker refuses the model.
    """
    _library()  # A missing library must be reported before the work.
    network, provenance, sha256 = load_model(model, EngineConfig(runtime="torch"))
    if not isinstance(network, DRMamba):
        raise CheckpointError(f"{model} is not a network that can be exported")
    data = convert(network, provenance, sha256, precision)
    largest, mean = compare(network, data)
    difference, allowed = (largest, TOLERANCE) if precision == "float32" else (mean, INT8_TOLERANCE)
    if not difference <= allowed:  # This is also true if it is not a number.
        raise BackendError(
            f"the exported model differs from torch by {difference:.2g} in probability, {allowed:g} is allowed; "
            "nothing was written"
        )
    write_atomic(Path(path), data)
    return difference


def convert(
    network: DRMamba, provenance: Provenance, sha256: str = "", precision: ExportPrecision = "float32"
) -> bytes:
    """Return the network as the bytes of an ONNX file, with its provenance."""
    onnx = _library()
    _refuse(network.config)
    core = _exported(network)
    core.ir_version = IR
    core = _with_functions(core, network.config)
    model = onnx.compose.merge_models(onnx.parser.parse_model(BEFORE), core, [("levels", "levels")])
    model = onnx.compose.merge_models(
        model, onnx.parser.parse_model(AFTER), [("logits", "logits"), ("size", "size")]
    )
    model = onnx.compose.merge_models(
        model, onnx.parser.parse_model(MAPS), [(name, name) for name in ("D", "B", "beta")]
    )
    standard = onnx.helper.make_opsetid("", OPSET)
    del model.opset_import[:]
    model.opset_import.append(standard)  # Everything else has been inlined.
    if precision == "int8":
        from drmamba.integrations.onnx_int8 import quantized  # the makers of synthetic pages come with it

        model = quantized(model)
        del model.opset_import[:]
        model.opset_import.append(standard)  # ONNX Runtime's tool names its own operators, but uses none.
    if network.context is not None:
        context = network.context
        choice = onnx.parser.parse_model(jobs(context.f3.out_channels, context.f4.out_channels))
        split_by_job(model.graph, choice.graph)
    # An input with an initializer may be left out.
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(False), "explain"))
    model.producer_name, model.producer_version = "drmamba", drmamba.__version__
    model.doc_string = __doc__ or ""
    facts = header(network.config, provenance) | {"weights_sha256": sha256, "precision": precision}
    facts |= {"parameters": str(parameters(network.config)), "gflops_512": f"{gflops(network.config):.2f}"}
    onnx.helper.set_model_props(model, facts)
    model.graph.name = "drmamba"
    _strip(model.graph)
    onnx.checker.check_model(model, full_check=True)
    data: bytes = model.SerializeToString(deterministic=True)
    return data


class Difference(NamedTuple):
    """How far the probabilities of an export are from those of torch."""

    largest: float
    mean: float  # of the windows' means


def compare(network: DRMamba, data: bytes) -> Difference:
    """Return the difference of the probabilities between the network in torch and its export."""
    engine = EngineConfig(device="cpu", workers=1)
    exported, own = OnnxRuntime(data, engine), TorchRuntime(network, engine)
    lane, rng = fused(network), np.random.default_rng(1)
    differences: list[NDArray[np.float32]] = []
    looks: list[tuple[Any, Any]] = [(None, None)]  # without a page, then with pages as both see them
    if network.config.context:
        looks += [(own.see_page(lane, page), exported.see_page(None, page)) for page in _trial_pages()]
    conventions = range(max(1, len(network.config.conventions)))
    for windows, suppress in _trials():
        places = rng.uniform(0, 500, (len(windows), 2)).astype(np.float32)
        for (of_torch, of_export), convention in product(looks, conventions):
            situation: dict[str, Any] = {"convention": convention, "places": places}
            want = own.run(lane, windows, suppress, page=of_torch, **situation)
            found = exported.run(None, windows, suppress, page=of_export, **situation)
            differences.append(np.abs(want - found))
    # A difference that is not a number stays one.
    return Difference(
        float(np.max([one.max() for one in differences])), float(np.mean([one.mean() for one in differences]))
    )


def _exported(network: DRMamba) -> Any:
    """Return the core as torch's exporter writes it, for any batch and any size in steps of 32."""
    if not hasattr(torch.onnx, "ops"):
        raise BackendError(f"the export needs torch 2.8 or newer, this is {torch.__version__}")
    batch = torch.export.Dim("batch", min=1, max=4096)
    steps = {axis: torch.export.Dim(f"steps_{axis}", min=1, max=1024) for axis in (2, 3)}

    def sized(stride: int) -> dict[int, Any]:
        return {0: batch} | {axis: STRIDES[-1] // stride * step for axis, step in steps.items()}

    inputs: dict[str, Tensor] = {
        "levels": LEVELS * torch.rand(2, 3, 3 * STRIDES[-1], 4 * STRIDES[-1]),
        "suppress": torch.tensor(1.0),
    }
    shapes: dict[str, Any] = {"levels": sized(1), "suppress": None}
    outputs = ["logits", "D", "B", "beta"]
    if network.convention is not None:
        inputs["convention"], shapes["convention"] = torch.tensor(0), None
    if network.context is not None:
        channels = network.context.f3.out_channels, network.context.f4.out_channels
        for number, stride, count in zip((3, 4), STRIDES[2:], channels, strict=True):
            name, size = f"context_{number}", (3 * STRIDES[-1] // stride, 4 * STRIDES[-1] // stride)
            inputs[name], shapes[name] = torch.zeros(2, count, *size), sized(stride)
            outputs.append(f"features_{number}")
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # They are about torch's exporter itself.
            program = torch.onnx.export(
                Core(network).eval(),
                kwargs=inputs,
                dynamo=True,
                dynamic_shapes=shapes,
                input_names=list(inputs),
                output_names=outputs,
                opset_version=OPSET,
                verbose=False,
            )
    finally:
        log.setLevel(level)
    assert program is not None
    return program.model_proto


def _with_functions(model: Any, config: ModelConfig) -> Any:
    """Return the model with the bodies of its own functions in place of calls to them."""
    onnx = _library()
    model.functions.append(onnx.parser.parse_function(scan_function(config.block.directions)))
    return onnx.inliner.inline_local_functions(model)


def _strip(graph: Any) -> None:
    """Remove torch's notes on the origin of each node, which hold lines of code and paths of this machine."""
    for part in (graph, *graph.node, *graph.initializer, *graph.input, *graph.output):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _strip(attribute.g)
    graph.ClearField("value_info")  # Every runtime infers it.


def exportable(config: ModelConfig) -> bool:
    """Return whether a network can be exported."""
    return config.encoder != "vmamba_tiny" and config.block.directions in DIRECTIONS


def _refuse(config: ModelConfig) -> None:
    if not exportable(config):
        known = " or ".join(str(d) for d in get_args(Directions) if d in DIRECTIONS)
        raise BackendError(
            f"the encoder {config.encoder} with {config.block.directions} scan directions cannot be exported; "
            f"the export supports {known} directions and any encoder but vmamba_tiny"
        )


def _trials() -> Iterator[tuple[Windows, float]]:
    """Yield windows and suppressions: noise and page-like windows, whole, small and odd ones, and a batch."""
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


def _trial_pages() -> Iterator[ReducedPage]:
    """Yield reduced pages: one larger than the windows' positions reach, and one smaller than a cell."""
    rng = np.random.default_rng(2)
    yield rng.integers(0, 256, (290, 203, 3), np.uint8)
    yield rng.integers(0, 256, (9, 14, 3), np.uint8)


def _library() -> Any:
    try:
        import onnx
        import onnx.compose
        import onnx.inliner
        import onnx.parser
        import onnxscript  # noqa: F401  torch's exporter needs it
    except ImportError as error:
        raise MissingExtra(str(error.name or "onnx"), "onnx") from error
    return onnx
