"""What the tests of exported models share: pages, networks whose context matters, and what an export looks like."""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from drmamba.config import (
    EngineConfig,
)

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.jpg"))
CPU = EngineConfig(device="cpu", workers=1)


def expressive(network, scale=0.3):
    """The network with page context and conventions that matter; they start at zero."""
    torch.manual_seed(5)
    context = () if network.context is None else (network.context.f3, network.context.f4)
    for part in (*context, network.convention, network.convention_output):
        for parameter in part.parameters() if part is not None else ():
            nn.init.normal_(parameter, std=scale)
    return network.eval()


def sides(model):
    """Each input and output of a model with its shape."""
    return {
        value.name: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in (*model.graph.input, *model.graph.output)
    }


def expected_sides(network):
    """What a network's export takes and gives: context and convention only where the network has them."""
    expected = {"page": ["batch", "height", "width", 3], "suppress": []}
    if network.convention is not None:
        expected["convention"] = []
    expected["explain"] = []
    outputs = {
        "probability": ["batch", "height", "width"],
        "maps": ["explained", 4, "rows_4", "columns_4"],
    }
    if network.context is not None:
        for number, stride in ((3, 16), (4, 32)):
            cells = [network.encoder.widths[number - 1], f"rows_{stride}", f"columns_{stride}"]
            expected[f"context_{number}"] = ["windows", *cells]
            outputs[f"features_{number}"] = ["batch", *cells]
    return expected | outputs


def operators(graph):
    """(domain, type) of every node, those inside scans too."""
    for node in graph.node:
        yield node.domain, node.op_type
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from operators(attribute.g)


def text_page(height, width):
    rng = np.random.default_rng(height)
    page = np.linspace(235, 170, width) + rng.normal(0, 4, (height, width))
    for top in range(6, height - 12, 24):
        for left in range(6, width - 6, 12):
            page[top : top + rng.integers(8, 18), left : left + 4] -= rng.uniform(60, 140)
    return np.repeat(np.clip(page, 0, 255).astype(np.uint8)[:, :, None], 3, axis=2)


class Strides(nn.Module):
    """An encoder of four convolutions: what is exported quickly."""

    def __init__(self, widths):
        super().__init__()
        inputs, steps = (3, *widths[:-1]), (4, 2, 2, 2)
        self.layers = nn.ModuleList(
            nn.Conv2d(a, b, step, step) for a, b, step in zip(inputs, widths, steps, strict=True)
        )

    def forward(self, x):
        return [x := layer(x) for layer in self.layers]
