"""Exported models: the same probabilities as torch, standard operators only, and no torch to run them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from PIL import Image
from torch import nn

import drmamba
from drmamba.checkpoint import Provenance
from drmamba.cli import group
from drmamba.config import BlockConfig, EngineConfig, ModelConfig, WindowConfig, preset, replace_values
from drmamba.errors import BackendError, CheckpointError, ConfigError, InputError, MissingExtra
from drmamba.files import sha256
from drmamba.inference.binarizer import Binarizer, UntrainedWarning
from drmamba.inference.lanes import Lanes
from drmamba.inference.models import load_model
from drmamba.inference.onnx_runtime import OnnxRuntime
from drmamba.inference.tiling import probability
from drmamba.inference.torch_runtime import TorchRuntime
from drmamba.integrations import onnx as exporting
from drmamba.integrations.onnx_graph import DOMAIN, IR, OPSET, scan_function
from drmamba.model.fuse import fused
from drmamba.model.network import DRMamba
from drmamba.ops import linear_scan, scan_orders

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed")

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.jpg"))
CPU = EngineConfig(device="cpu", workers=1)
pytestmark = pytest.mark.filterwarnings("ignore::drmamba.inference.binarizer.UntrainedWarning")


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The model that ships, or an untrained one while there is none, as the command exports it."""
    path = tmp_path_factory.mktemp("onnx") / "lite.onnx"
    result = CliRunner().invoke(group, ["export", "--format", "onnx", "-o", str(path)])
    assert result.exit_code == 0, result.output
    assert "wrote" in result.stderr
    return path


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
    sides = {
        value.name: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in (*model.graph.input, *model.graph.output)
    }
    assert sides == {
        "page": ["batch", "height", "width", 3],
        "suppress": [],
        "probability": ["batch", "height", "width"],
    }
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert ModelConfig.from_dict(json.loads(facts["config"])) == preset("lite")
    _, provenance, digest = load_model("lite")
    assert facts["weights_sha256"] == digest
    assert json.loads(facts["provenance"])["trained"] == provenance.trained


@pytest.mark.parametrize(
    ("shape", "suppress"),
    [
        ((1, 512, 512), 1.0),
        ((1, 480, 416), 1.0),
        ((3, 64, 96), 0.0),
        ((1, 33, 70), 2.5),
        ((2, 1, 1), 1.0),
    ],
)
def test_probabilities_are_torchs(exported, shape, suppress):
    windows = np.random.default_rng(1).integers(0, 256, (*shape, 3), np.uint8)
    network = load_model("lite")[0]
    want = TorchRuntime(network, CPU).run(fused(network), windows, suppress)
    found = OnnxRuntime(exported, CPU).run(None, windows, suppress)
    assert found.shape == want.shape
    assert found.dtype == np.float32
    assert np.abs(found - want).max() < 1e-4


def test_info_reads_an_export_too(exported):
    result = CliRunner().invoke(group, ["info", "--model", str(exported), "--json"])
    facts, own = json.loads(result.stdout), load_model("lite")[1]
    assert facts["sha256"] == sha256(exported)
    assert (facts["preset"], facts["trained"]) == (own.preset, own.trained)
    assert ModelConfig.from_dict(facts["config"]) == preset("lite")


def test_suppress_changes_the_result(exported):
    runtime, page = OnnxRuntime(exported, CPU), text_page(64, 64)[None]
    assert np.abs(runtime.run(None, page, 0.0) - runtime.run(None, page, 3.0)).max() > 1e-5


def test_the_callers_arithmetic_stays_as_it_is(exported):
    """ONNX Runtime can flush denormal numbers, but does so to whoever loads the first model."""
    OnnxRuntime(exported, CPU).run(None, text_page(64, 64)[None], 1.0)
    assert np.float32(2e-38) * np.float32(0.1) > 0


def test_whole_pages_are_the_same(exported):
    """Every page of the samples where a trained model is at hand; else a part of one, but for pixels on the brink."""
    with (
        Binarizer.from_pretrained("lite", engine=CPU) as one,
        Binarizer.from_pretrained(exported, engine=CPU) as two,
    ):
        trained = one.provenance.trained
        assert two.sha256 == sha256(exported)
        for path in EXAMPLES if trained else EXAMPLES[:1]:
            scan = np.asarray(Image.open(path).convert("RGB"))
            scan = scan if trained else scan[:300, :650]
            want, found = one(scan), two(scan)
            assert np.abs(want.probability - found.probability).max() < 1e-4
            sure = trained | (np.abs(want.probability - 0.5) > 1e-4)
            assert (want.binary == found.binary)[sure].all()
            assert want.quality.stroke_width == found.quality.stroke_width


def test_any_number_of_workers_gives_the_same_bytes(exported):
    page, results = text_page(150, 210), set()
    for workers in (1, 2, 3):
        runtime = OnnxRuntime(exported, EngineConfig(workers=workers))
        with Lanes(runtime) as lanes:
            assert lanes.count == workers
            results.add(probability(page, lanes.predict(), WindowConfig(window=96, stride=64)).tobytes())
    assert len(results) == 1


def without(*libraries):
    """Python code that makes libraries look absent."""
    return "import sys\n" + "".join(f"sys.modules[{library!r}] = None\n" for library in libraries)


def test_the_command_runs_it_without_torch(exported, tmp_path):
    page = text_page(180, 260)
    Image.fromarray(page).save(tmp_path / "scan.png")
    arguments = ["binarize", "scan.png", "-o", "out", "--model", str(exported), "--report", "report.jsonl"]
    code = without("torch", "safetensors", "onnx", "onnxscript") + (
        f"import drmamba.cli\nsys.argv = ['drmamba', *{arguments}]\n"
        "try:\n    drmamba.cli.main()\nfinally:\n"
        "    assert not [m for m in sys.modules if m.startswith('torch.')], 'torch was imported'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ONNX Runtime" in done.stderr
    line = json.loads((tmp_path / "report.jsonl").read_text())
    assert line["status"] == "done"
    assert line["model_sha256"] == sha256(exported)
    with Binarizer.from_pretrained("lite", engine=CPU) as one:
        want = one(page)
    found = ~np.asarray(Image.open(tmp_path / "out" / "scan.png"))
    sure = np.abs(want.probability - 0.5) > 1e-4
    assert (found == want.binary)[sure].all()


def test_without_torch_another_model_says_what_it_needs(tmp_path):
    Image.fromarray(text_page(40, 40)).save(tmp_path / "scan.png")
    code = (
        without("torch")
        + "import drmamba.cli\nsys.argv = ['drmamba', 'binarize', 'scan.png']\ndrmamba.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "the model 'lite' needs torch, which is not installed" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_guides_program_runs_without_torch(exported, tmp_path):
    program = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "onnx.md").read_text(), re.DOTALL)[1]
    page = text_page(560, 130)
    Image.fromarray(page).save(tmp_path / "scan.png")
    code = (
        without("torch", "drmamba")
        + f"sys.argv = ['program', {str(exported)!r}, 'scan.png', 'ink.png']\n"
        + program
    )
    subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, env=dict(os.environ, OMP_NUM_THREADS="1")
    )
    found = ~np.asarray(Image.open(tmp_path / "ink.png"))
    config = replace_values(drmamba.config.PROTOCOLS["paper"], {"windows": {"stride": 384}})
    with Binarizer.from_pretrained(exported, config=config, engine=CPU) as one:
        want = one(page)
    assert (found == want.binary)[np.abs(want.probability - 0.5) > 1e-4].all()


@pytest.mark.parametrize("difference", [1.1e-4, float("nan")])
def test_an_export_that_differs_is_not_left(tmp_path, monkeypatch, difference):
    monkeypatch.setattr(exporting, "convert", lambda *_: b"bytes")
    monkeypatch.setattr(exporting, "compare", lambda *_: difference)
    with pytest.raises(BackendError, match="nothing was written"):
        exporting.export("lite", tmp_path / "lite.onnx")
    assert list(tmp_path.iterdir()) == []


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


@pytest.mark.parametrize(
    "block",
    [
        BlockConfig(width=8, routes="single", directions=1),
        BlockConfig(width=8, fusion="concat", decay="shared"),
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
    assert exporting.compare(network, data) < 1e-5


@pytest.mark.parametrize(
    "config", [ModelConfig(encoder="vmamba_tiny"), ModelConfig(block=BlockConfig(directions=8))]
)
def test_what_cannot_be_exported_says_so(config):
    network = type("Stand", (), {"config": config})()
    with pytest.raises(BackendError, match="cannot be exported; what can: 1 or 4 directions"):
        exporting.convert(network, Provenance())


def test_files_that_are_no_models(tmp_path, exported):
    import onnx.parser

    foreign = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18]> g (float x) => (float y) { y = Abs (x) }'
    )
    contents = {
        "text.onnx": (b"hello", "is not an ONNX model that runs here"),
        "empty.onnx": (b"", "is not"),
        "cut.onnx": (exported.read_bytes()[:100_000], "is not an ONNX model that runs here"),
        "foreign.onnx": (foreign.SerializeToString(), "is not a drmamba model"),
    }
    for name, (data, reason) in contents.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(CheckpointError, match=f"{name} {reason}") as caught:
            load_model(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(CheckpointError, match=r"there is no model 'missing/file.onnx'"):
        load_model("missing/file.onnx")


def test_runtimes_that_do_not_fit(exported):
    with pytest.raises(ConfigError, match="it runs with --runtime onnx"):
        load_model(exported, EngineConfig(runtime="torch"))
    with pytest.raises(
        ConfigError, match=r"write one with `drmamba export --format onnx -o model.onnx --model lite`"
    ):
        load_model("lite", EngineConfig(runtime="onnx"))
    with pytest.raises(BackendError, match="run on the CPU, not on 'cuda'"):
        load_model(exported, EngineConfig(device="cuda"))
    with (
        Binarizer.from_pretrained(exported, engine=CPU, explain=True) as made,
        pytest.raises(InputError, match="explain itself"),
    ):
        made(text_page(40, 40))
    result = CliRunner().invoke(group, ["export", "-o", "model.pb"])
    assert isinstance(result.exception, ConfigError)


@pytest.mark.parametrize("library", ["onnx", "onnxscript", "onnxruntime"])
def test_a_missing_library_names_the_extra(library, exported, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    wanted = rf'{library} is not installed; get it with: pip install "drmamba\[onnx\]"'
    with pytest.raises(MissingExtra, match=wanted):
        exporting.export("lite", tmp_path / "lite.onnx")
    if library == "onnxruntime":
        with pytest.raises(MissingExtra, match=wanted):
            load_model(exported)


def test_an_untrained_model_says_so(exported, tmp_path):
    raw = onnx.load(exported)
    about = {entry.key: entry.value for entry in raw.metadata_props}
    onnx.helper.set_model_props(raw, about | {"provenance": json.dumps({"trained": False})})
    onnx.save(raw, tmp_path / "raw.onnx")
    with pytest.warns(UntrainedWarning):
        Binarizer.from_pretrained(tmp_path / "raw.onnx", engine=CPU).close()
