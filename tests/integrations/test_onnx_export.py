"""The export of models: standard operators only, compared with torch, and refused where it cannot be right."""

import json
import re
import sys

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from exported_models import CPU, ROOT, Strides, expected_sides, expressive, operators, sides, text_page

from drmamba import checkpoint
from drmamba.checkpoint import Provenance
from drmamba.cli import group
from drmamba.config import (
    BlockConfig,
    EngineConfig,
    ModelConfig,
)
from drmamba.errors import BackendError, MissingExtra, install_command
from drmamba.files import sha256
from drmamba.inference.binarizer import Binarizer, UntrainedWarning
from drmamba.inference.models import load_model
from drmamba.inference.runtime.onnx import OnnxRuntime
from drmamba.integrations import onnx as exporting
from drmamba.integrations.onnx_graph import DOMAIN, IR, OPSET, scan_function
from drmamba.model.network import DRMamba
from drmamba.ops import linear_scan, scan_orders

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::drmamba.inference.binarizer.UntrainedWarning")


@pytest.mark.parametrize("directions", [1, 4])
@pytest.mark.parametrize(
    ("batch", "height", "width"), [(1, 8, 8), (2, 5, 13), (1, 1, 7), (1, 9, 1), (1, 40, 24)]
)
def test_the_scan_is_the_references(directions, batch, height, width):
    import onnx.inliner
    import onnx.parser
    import onnxruntime

    called = f"""
<ir_version: {IR}, opset_import: ["": {OPSET}, "{DOMAIN}": 1]>
g (float[B, h, w, c] x, float[B, h, w, c] b) => (float[B, h, w, c] y) {{ y = {DOMAIN}.Scans (x, b) }}
"""
    model = onnx.inliner.inline_local_functions(onnx.parser.parse_model(called + scan_function(directions)))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    torch.manual_seed(0)
    shape = (batch, height, width, 6)
    x, b = -torch.rand(shape) * torch.tensor([1e-4, 0.01, 0.1, 1.0, 10.0, 100.0]), torch.rand(shape)
    found = session.run(None, {"x": x.numpy(), "b": b.numpy()})[0]
    orders = scan_orders(directions, height, width)
    scans = [
        linear_scan(x.exp().flatten(1, 2), b.flatten(1, 2), order, backend="reference") for order in orders
    ]
    np.testing.assert_allclose(found, sum(scans).view(shape), rtol=1e-5, atol=1e-5)


def test_standard_operators_any_size_and_its_origin_inside(exported):
    model = onnx.load(exported)
    assert {domain for domain, _ in operators(model.graph)} == {""}
    assert {name for _, name in operators(model.graph)} >= {"Conv", "Scan"}
    assert [(one.domain, one.version) for one in model.opset_import] == [("", OPSET)]
    assert not model.functions
    written = exported.read_bytes()
    assert not any(path in written for path in (b"site-packages", b".py", str(ROOT).encode()))
    assert not any(tensor.external_data for tensor in model.graph.initializer)
    network, provenance, digest = load_model("lite", EngineConfig(runtime="torch"))
    assert sides(model) == expected_sides(network)
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert ModelConfig.from_dict(json.loads(facts["config"])) == network.config
    assert facts["weights_sha256"] == digest
    assert json.loads(facts["provenance"])["trained"] == provenance.trained


def test_the_embedded_file_is_the_export_of_the_embedded_weights():
    network, _, digest = load_model("lite", EngineConfig(runtime="torch"))
    path = checkpoint.embedded("lite", ".onnx")
    assert OnnxRuntime(path, CPU).weights_sha256 == digest == sha256(checkpoint.embedded("lite"))
    assert exporting.compare(network, path.read_bytes()).largest < exporting.TOLERANCE


def test_the_command_exports_a_file_of_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(exporting, "_trials", lambda: [(text_page(64, 96)[None], 1.0)])
    weights, path = tmp_path / "small.safetensors", tmp_path / "small.onnx"
    network = DRMamba(ModelConfig(encoder="convnext_atto", decoder=(8, 8, 8), block=BlockConfig(width=8)))
    checkpoint.save(weights, network, Provenance())
    result = CliRunner().invoke(group, ["export", "--model", str(weights), "-o", str(path)])
    assert result.exit_code == 0, result.output
    assert "wrote" in result.stderr
    assert OnnxRuntime(path, CPU).weights_sha256 == sha256(weights)


def test_info_reads_an_export_too(exported):
    result = CliRunner().invoke(group, ["info", "--model", str(exported), "--json"])
    facts, (network, own, _) = json.loads(result.stdout), load_model("lite", EngineConfig(runtime="torch"))
    assert facts["sha256"] == sha256(exported)
    assert (facts["preset"], facts["trained"]) == (own.preset, own.trained)
    assert ModelConfig.from_dict(facts["config"]) == network.config


@pytest.mark.parametrize("difference", [1.1e-4, float("nan")])
def test_an_export_that_differs_is_not_left(tmp_path, monkeypatch, difference):
    monkeypatch.setattr(exporting, "convert", lambda *_: b"bytes")
    monkeypatch.setattr(exporting, "compare", lambda *_: exporting.Difference(difference, 0.0))
    with pytest.raises(BackendError, match="nothing was written"):
        exporting.export("lite", tmp_path / "lite.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "block",
    [
        BlockConfig(width=8, routes="single", directions=1, output_gate=True),
        BlockConfig(width=8, fusion="concat", decay="shared"),
        BlockConfig(width=8, fusion="concat", centred=True),
        BlockConfig(width=8, fusion="add", beta="fixed"),
    ],
)
def test_ablations_export_too(block, monkeypatch):
    torch.manual_seed(3)
    network = DRMamba(ModelConfig(encoder="convnext_atto", decoder=(8, 8, 8), block=block))
    network.encoder = Strides(network.encoder.widths)
    data = exporting.convert(network, Provenance())
    if block.routes == "single":
        assert exporting.convert(network, Provenance()) == data  # the same bytes every time
    monkeypatch.setattr(
        exporting, "_trials", lambda: [(text_page(70, 50)[None], 1.0), (text_page(64, 96)[None], 0.5)]
    )
    assert exporting.compare(network, data).largest < 1e-5


@pytest.mark.parametrize("parts", [{"context": 8, "projected": True}, {"conventions": ("contest", "all")}])
def test_context_and_conventions_export_apart_too(parts, monkeypatch):
    config = ModelConfig(encoder="convnext_atto", decoder=(8, 8, 8), block=BlockConfig(width=8), **parts)
    torch.manual_seed(3)
    network = DRMamba(config)
    widths = network.encoder.widths
    network.encoder = Strides(widths)
    network.encoder.widths = widths
    data = exporting.convert(expressive(network), Provenance())
    assert sides(onnx.load_model_from_string(data)) == expected_sides(network)
    runtime = OnnxRuntime(data, CPU)
    assert (runtime.context, runtime.conventions) == (config.context, config.conventions)
    monkeypatch.setattr(exporting, "_trials", lambda: [(np.stack([text_page(70, 50)] * 2), 1.0)])
    assert exporting.compare(network, data).largest < 1e-5


def test_a_model_with_context_is_one_file_of_standard_operators(contextual):
    network, path = contextual
    model = onnx.load(path)
    assert sides(model) == expected_sides(network)
    assert {domain for domain, _ in operators(model.graph)} == {""}
    assert [node.op_type for node in model.graph.node].count("If") == 1
    assert "Scan" not in {node.op_type for node in model.graph.node}
    written = path.read_bytes()
    assert not any(name in written for name in (b"site-packages", b".py", str(ROOT).encode()))
    runtime = OnnxRuntime(path, CPU)
    assert (runtime.context, runtime.conventions) == (4, ("contest", "all"))


@pytest.mark.parametrize(
    "config", [ModelConfig(encoder="vmamba_tiny"), ModelConfig(block=BlockConfig(directions=8))]
)
def test_what_cannot_be_exported_says_so(config):
    network = type("Stand", (), {"config": config})()
    with pytest.raises(BackendError, match="cannot be exported; the export supports 1 or 4 directions"):
        exporting.convert(network, Provenance())


@pytest.mark.parametrize("library", ["onnx", "onnxscript"])
def test_a_missing_library_names_the_extra(library, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    wanted = re.escape(f"{library} is not installed; get it with: {install_command('onnx')}")
    with pytest.raises(MissingExtra, match=wanted):
        exporting.export("lite", tmp_path / "lite.onnx")


def test_an_untrained_model_says_so(exported, tmp_path):
    raw = onnx.load(exported)
    about = {entry.key: entry.value for entry in raw.metadata_props}
    onnx.helper.set_model_props(raw, about | {"provenance": json.dumps({"trained": False})})
    onnx.save(raw, tmp_path / "raw.onnx")
    with pytest.warns(UntrainedWarning):
        Binarizer.from_pretrained(tmp_path / "raw.onnx", engine=CPU).close()
