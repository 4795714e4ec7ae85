"""The reconstruction of an exported model in int8, by ONNX Runtime's own tool and calibrated on synthetic pages.

Only the reconstruction is quantized: its convolutions at full resolution follow each other directly, so that values
stay integers from one to the next. In the encoder every activation returns to float32, which costs what the integers
save (docs/performance.md). The scans stay float32, as in every precision.

Activations are unsigned, and weights are signed with 7 bits. Processors without VNNI add products in pairs, as integers
of 16 bits, and with 7 bits no such sum overflows. The integers are therefore the same on every x86-64 processor.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drmamba.config import STRIDES, SyntheticConfig
from drmamba.data.paper_textures import PaperTextures
from drmamba.data.synthetic import Synthesizer
from drmamba.errors import CheckpointError
from drmamba.inference.runtime.onnx import quantization
from drmamba.integrations.onnx_graph import sort_nodes

PART = "reconstruction"  # the part of the network whose convolutions are quantized
FOLLOWING = ("Add", "Relu")  # operators behind them that are computed in integers as well
WINDOWS = 24  # made for the calibration
SIDE = 256  # pixels along each side of such a window


def quantized(model: Any) -> Any:
    """Return an ONNX model whose reconstruction is in int8; the jobs of the model must not be split yet."""
    nodes = quantizable(model.graph)
    if not nodes:
        raise CheckpointError("this network has no reconstruction that could be exported in int8")
    tool = quantization()
    root = logging.getLogger()
    level = root.level
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "float32.onnx", Path(folder) / "int8.onnx"
        source.write_bytes(model.SerializeToString())
        root.setLevel(logging.ERROR)  # The tool recommends steps that exports have had.
        try:
            tool.quantize_static(
                source,
                target,
                _reader(tool, model.graph),
                quant_format=tool.QuantFormat.QDQ,
                op_types_to_quantize=["Conv", *FOLLOWING],
                nodes_to_quantize=nodes,
                per_channel=True,
                reduce_range=True,
                activation_type=tool.QuantType.QUInt8,
                weight_type=tool.QuantType.QInt8,
            )
        finally:
            root.setLevel(level)
        made = type(model).FromString(target.read_bytes())
    sort_nodes(made.graph)  # The tool does not know what the branches of an `If` read.
    return made


def quantizable(graph: Any) -> list[str]:
    """Return the names of the reconstruction's convolutions, and of the sums and activations behind them.

    The first convolution, of the levels themselves, has three channels and gains nothing.
    """
    widths = {one.name: one.dims[1] for one in graph.initializer if PART in one.name and len(one.dims) == 4}
    names: list[str] = []
    made: set[str] = set()
    for node in graph.node:
        is_convolution = node.op_type == "Conv" and widths.get(node.input[1], 0) > 3
        if is_convolution or (node.op_type in FOLLOWING and not made.isdisjoint(node.input)):
            names.append(node.name)
            made.update(node.output)
    return names


def calibration_windows() -> Iterator[NDArray[np.uint8]]:
    """Yield parts of synthetic pages of every kind, (1, SIDE, SIDE, 3); they are the same at every call."""
    maker = Synthesizer(SyntheticConfig(), PaperTextures())
    for number in range(WINDOWS):
        page = maker.page(np.random.default_rng((8, number)), (SIDE, SIDE))
        image = np.asarray(page.image)
        levels = image if image.dtype == np.uint8 else np.clip(255 * image + 0.5, 0, 255).astype(np.uint8)
        yield np.ascontiguousarray(np.broadcast_to(levels.reshape(SIDE, SIDE, -1), (SIDE, SIDE, 3)))[None]


def _reader(tool: Any, graph: Any) -> Any:
    """Return what hands windows to the tool, with all else that the model takes."""
    context: dict[str, NDArray[Any]] = {"suppress": np.array(1, np.float32), "explain": np.array(False)}
    shapes = {one.name: [dim.dim_value for dim in one.type.tensor_type.shape.dim] for one in graph.input}
    if "convention" in shapes:
        context["convention"] = np.array(0, np.int64)
    for name, stride in (("context_3", STRIDES[2]), ("context_4", STRIDES[3])):
        if name in shapes:
            context[name] = np.zeros((1, shapes[name][1], SIDE // stride, SIDE // stride), np.float32)
    windows = calibration_windows()

    class Windows(tool.CalibrationDataReader):  # type: ignore[misc]
        def get_next(self) -> dict[str, NDArray[Any]] | None:
            window = next(windows, None)
            return None if window is None else {"page": window, **context}

    return Windows()
