"""Exports whose reconstruction is in int8."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from exported_models import CPU, Strides, expressive, text_page

from drmamba.checkpoint import Provenance
from drmamba.config import BlockConfig, DetailConfig, ModelConfig
from drmamba.errors import BackendError
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.runtime.onnx import OnnxRuntime
from drmamba.integrations import onnx as exporting
from drmamba.integrations import onnx_int8
from drmamba.model.network import DRMamba

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::drmamba.inference.binarizer.UntrainedWarning")


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(6)
    detail = DetailConfig(width=8, head_width=8, dilations=(2,), fold=2)
    config = ModelConfig(
        encoder="convnext_atto", decoder=(8, 8, 8), context=4, block=BlockConfig(width=8), detail=detail
    )
    network = DRMamba(config)
    widths = network.encoder.widths
    network.encoder = Strides(widths)
    network.encoder.widths = widths
    return expressive(network)


@pytest.fixture(scope="module")
def exported(network):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx_int8, "WINDOWS", 2)
        return exporting.convert(network, Provenance(), precision="int8")


def test_an_int8_export_is_close_states_its_precision_and_does_both_jobs(network, exported, monkeypatch):
    monkeypatch.setattr(exporting, "_trials", lambda: [(text_page(70, 50)[None], 1.0)])
    largest, mean = exporting.compare(network, exported)
    assert 1e-7 < mean < exporting.INT8_TOLERANCE
    assert largest < 0.2
    with Binarizer(OnnxRuntime(exported, CPU)) as binarizer:
        assert binarizer.config.precision == "int8"
        assert binarizer(text_page(70, 50)).binary.shape == (70, 50)
        with pytest.raises(BackendError, match="float32 cannot be used here"):
            binarizer.with_config(replace(binarizer.config, precision="float32"))


def test_only_the_reconstruction_is_in_integers_and_no_pair_of_products_overflows(exported):
    model = onnx.load_model_from_string(exported)
    assert [(one.domain, one.version) for one in model.opset_import] == [("", exporting.OPSET)]
    weights = [one for graph in graphs(model.graph) for one in graph.initializer]
    integers = [one for one in weights if one.data_type == onnx.TensorProto.INT8 and len(one.dims) == 4]
    assert integers
    assert all("reconstruction" in one.name for one in integers)
    for one in integers:
        values = onnx.numpy_helper.to_array(one).astype(np.int32)
        assert 2 * 255 * np.abs(values).max() <= np.iinfo(np.int16).max


def graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs(attribute.g)


def test_calibration_windows_are_pages_and_the_same_every_time(monkeypatch):
    monkeypatch.setattr(onnx_int8, "WINDOWS", 2)
    first, second = (list(onnx_int8.calibration_windows()) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert all(window.dtype == np.uint8 and np.ptp(window) > 50 for window in first)


def test_a_float32_file_refuses_int8():
    with (
        Binarizer.from_pretrained(engine=CPU) as binarizer,
        pytest.raises(BackendError, match="int8 cannot be used here"),
    ):
        binarizer.with_config(replace(binarizer.config, precision="int8"))
