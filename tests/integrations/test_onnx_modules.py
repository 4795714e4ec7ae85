"""The modules that the export replaces give the same values as those of the network."""

import copy

import pytest
import torch
import torch.nn.functional as F
from exported_models import text_page
from torch import nn

from drmamba.checkpoint import Provenance
from drmamba.config import BlockConfig, DetailConfig, ModelConfig
from drmamba.integrations import onnx as exporting
from drmamba.integrations.onnx_modules import (
    LEVELS,
    ExportedExcitation,
    ExportedReconstruction,
    SplitConvolution,
    edge_kernels,
    shuffled,
    widen,
)
from drmamba.model.detail import Reconstruction, Sobel
from drmamba.model.network import DRMamba
from drmamba.model.pplcnet import WIDTHS, SqueezeExcitation

pytest.importorskip("onnx", reason="onnx is not installed")


@pytest.mark.parametrize("fold", [1, 2, 4])
def test_edges_are_one_convolution(fold):
    image = torch.rand(2, 3, 16, 24)
    sobel = Sobel()
    want = F.pixel_unshuffle(torch.cat([image, sobel(image)], 1), fold)
    padded = F.pad(LEVELS * image, (1, 1, 1, 1), mode="replicate")
    found = F.leaky_relu(F.conv2d(padded, edge_kernels(sobel, fold), stride=fold), -1.0)
    torch.testing.assert_close(found, want, rtol=1e-5, atol=1e-5)


def test_places_are_shuffled_as_pixels_are():
    x = torch.rand(2, 12, 5, 3)
    by_place = x[:, torch.arange(12).view(3, 4).t().flatten()]
    torch.testing.assert_close(shuffled(by_place, 2), F.pixel_shuffle(x, 2), rtol=0, atol=0)


def test_a_convolution_of_two_maps_is_split():
    convolution = nn.Conv2d(5, 4, 3, stride=2, padding=2, dilation=2)
    x, y = torch.rand(1, 2, 9, 8), torch.rand(1, 3, 9, 8)
    torch.testing.assert_close(SplitConvolution(convolution, 2)(x, y), convolution(torch.cat([x, y], 1)))


def test_channels_that_fill_a_block_have_no_effect():
    first, second = nn.Conv2d(3, 5, 3), nn.Conv2d(5, 4, 3)
    x = torch.rand(1, 3, 9, 9)
    want = second(F.relu(first(x)))
    widen(first, second)
    assert first.weight.shape[0] == second.weight.shape[1] == 16
    torch.testing.assert_close(second(F.relu(first(x))), want)


@pytest.mark.filterwarnings("ignore")  # They are about torch's exporter itself.
def test_the_mean_of_a_large_map_is_not_rounded():
    # ONNX Runtime's own mean of this map is wrong by 2e-5 of its value, because it adds one position after the other.
    onnxruntime = pytest.importorskip("onnxruntime")
    torch.manual_seed(0)
    module = SqueezeExcitation(WIDTHS[0]).eval()
    x = 5 + torch.rand(1, WIDTHS[0], 128, 128)
    with torch.no_grad():
        exported = torch.onnx.export(ExportedExcitation(module).eval(), (x,), dynamo=True, verbose=False)
        want = copy.deepcopy(module).double()(x.double())
    assert exported is not None
    session = onnxruntime.InferenceSession(exported.model_proto.SerializeToString())
    (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    torch.testing.assert_close(torch.from_numpy(found).double(), want, rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    "config",
    [
        DetailConfig(width=4, head_width=6, dilations=(2,), fold=2),
        DetailConfig(width=4, head_width=6, dilations=(), fold=1, enabled=False),
    ],
)
def test_the_reconstruction_is_the_same(config):
    torch.manual_seed(0)
    module = Reconstruction(8, config).eval()
    o, image = torch.rand(1, 8, 8, 6), torch.rand(1, 3, 32, 24)
    with torch.no_grad():
        want = module(o, image)
        torch.testing.assert_close(
            ExportedReconstruction(module)(o, LEVELS * image), want, rtol=1e-4, atol=1e-5
        )


def test_the_encoder_of_the_text_detector_is_exported(monkeypatch):
    torch.manual_seed(1)
    block = BlockConfig(width=8)
    config = ModelConfig(encoder="pplcnetv4_small", decoder=(8, 8, 8), projected=True, block=block)
    network = DRMamba(config).eval()
    data = exporting.convert(network, Provenance())
    monkeypatch.setattr(exporting, "_trials", lambda: [(text_page(70, 50)[None], 1.0)])
    assert exporting.compare(network, data).largest < 1e-5
