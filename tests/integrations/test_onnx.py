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
from drmamba.config import (
    BlockConfig,
    EngineConfig,
    InferenceConfig,
    ModelConfig,
    WindowConfig,
    preset,
    replace_values,
)
from drmamba.errors import BackendError, CheckpointError, ConfigError, InputError, MissingExtra
from drmamba.files import sha256
from drmamba.inference.binarizer import Binarizer, UntrainedWarning
from drmamba.inference.models import load_model
from drmamba.inference.runtime import onnx as onnx_runtime
from drmamba.inference.runtime.onnx import OnnxRuntime
from drmamba.inference.runtime.pool import WorkerPool
from drmamba.inference.runtime.torch import TorchRuntime
from drmamba.inference.tiling import probability
from drmamba.integrations import onnx as exporting
from drmamba.integrations.onnx_graph import DOMAIN, IR, OPSET, scan_function
from drmamba.model import context, page_tiles
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


def expressive(network, scale=0.3):
    """The network with page context and conventions that matter; they start at zero."""
    torch.manual_seed(5)
    for part in (network.context, network.convention):
        for parameter in part.parameters() if part is not None else ():
            nn.init.normal_(parameter, std=scale)
    return network.eval()


@pytest.fixture(scope="module")
def contextual(tmp_path_factory):
    """An untrained `lite` that sees its page and knows both conventions, in torch and exported."""
    torch.manual_seed(4)
    network = expressive(DRMamba(preset("lite")))
    path = tmp_path_factory.mktemp("contextual") / "lite.onnx"
    path.write_bytes(exporting.convert(network, Provenance(preset="lite")))
    return network, path


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
    outputs = {"probability": ["batch", "height", "width"]}
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
    network, provenance, digest = load_model("lite")
    assert sides(model) == expected_sides(network)
    facts = {entry.key: entry.value for entry in model.metadata_props}
    assert ModelConfig.from_dict(json.loads(facts["config"])) == network.config
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
    facts, (network, own, _) = json.loads(result.stdout), load_model("lite")
    assert facts["sha256"] == sha256(exported)
    assert (facts["preset"], facts["trained"]) == (own.preset, own.trained)
    assert ModelConfig.from_dict(facts["config"]) == network.config


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
        with WorkerPool(runtime) as pool:
            assert pool.count == workers
            results.add(probability(page, pool.predict(), WindowConfig(window=96, stride=64)).tobytes())
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


@pytest.mark.parametrize("kind", ["shipped", "contextual"])
def test_the_guides_program_runs_without_torch(kind, exported, contextual, tmp_path):
    model = exported if kind == "shipped" else contextual[1]
    program = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "onnx.md").read_text(), re.DOTALL)[1]
    page = text_page(560, 130)
    Image.fromarray(page).save(tmp_path / "scan.png")
    code = (
        without("torch", "drmamba")
        + f"sys.argv = ['program', {str(model)!r}, 'scan.png', 'ink.png']\n"
        + program
    )
    subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, env=dict(os.environ, OMP_NUM_THREADS="1")
    )
    found = ~np.asarray(Image.open(tmp_path / "ink.png"))
    config = replace_values(drmamba.config.PROTOCOLS["paper"], {"windows": {"stride": 384}, "context": True})
    with Binarizer.from_pretrained(model, config=config, engine=CPU) as one:
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
    assert exporting.compare(network, data) < 1e-5


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


@pytest.mark.parametrize("shape", [(1, 96, 64), (2, 75, 50), (1, 1, 1)])
def test_a_run_does_one_job(contextual, shape, tmp_path):
    """Looking runs no scan, and windows run no projection of the page's features."""
    import onnxruntime

    network, path = contextual
    options = onnxruntime.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "run")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    pages = np.random.default_rng(3).integers(0, 256, (*shape, 3), np.uint8)
    feed = {"page": pages, "suppress": np.array(1, np.float32), "convention": np.array(0)}
    feed |= {f"context_{n}": np.empty((0, network.encoder.widths[n - 1], 0, 0), np.float32) for n in (3, 4)}
    empty, *found = session.run(["probability", "features_3", "features_4"], feed)
    events = json.loads(Path(session.end_profiling()).read_text())
    run = {event["args"]["op_name"] for event in events if event.get("cat") == "Node"}
    assert "Conv" in run
    assert "Scan" not in run
    assert empty.size == 0
    image = torch.from_numpy(pages).permute(0, 3, 1, 2).float() / 255
    with torch.no_grad():
        for one, want in zip(found, network.look(image), strict=True):
            np.testing.assert_allclose(one, want.numpy(), rtol=1e-4, atol=1e-4)
    runtime = OnnxRuntime(path, CPU)
    feed |= runtime._under(pages, None, None)
    probability, *features = runtime._session.run(None, feed)
    assert probability.shape == shape
    assert [one.size for one in features] == [0, 0]


@pytest.mark.parametrize("cells", [(1, 1), (7, 9), (40, 3)])
@pytest.mark.parametrize(("stride", "size"), [(16, (8, 6)), (32, (1, 3))])
def test_numpy_samples_as_torch_does(cells, stride, size):
    rng = np.random.default_rng(6)
    found = rng.normal(size=(1, 5, *cells)).astype(np.float32)
    places = rng.uniform(-40, 700, (4, 2)).astype(np.float32)
    got = onnx_runtime.sampled(found, places, size, stride, 4)
    want = context.sampled(torch.from_numpy(found), torch.from_numpy(places), size, stride, 4)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, want, atol=1e-5)


def test_a_large_page_is_looked_at_in_tiles(contextual, monkeypatch):
    network, path = contextual
    runtime, lane = OnnxRuntime(path, CPU), fused(network)
    page = text_page(page_tiles.TILE + 70, 90)
    found = runtime.see_page(None, page)
    for one, want in zip(found, TorchRuntime(network, CPU).see_page(lane, page), strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-4, atol=1e-4)
    step = page_tiles.TILE - 2 * page_tiles.OVERLAP
    monkeypatch.setattr(page_tiles, "TILE", 4096)
    for one, whole, stride in zip(found, runtime.see_page(None, page), (16, 32), strict=True):
        assert one.shape == whole.shape
        inside = (step - page_tiles.OVERLAP) // stride  # farther from the seam than the overlap
        np.testing.assert_allclose(one[:, :, :inside], whole[:, :, :inside], rtol=1e-3, atol=1e-3)
        assert np.abs(one - whole).mean() < 0.01 * whole.std()  # and the seam itself hardly shows


def test_pages_are_torchs_with_context_and_every_convention(contextual):
    network, path = contextual
    page = text_page(620, 700)
    config = InferenceConfig(scale=1.0, add_noise=False)
    results = {}
    with (
        Binarizer(network, config=config, engine=CPU) as one,
        Binarizer.from_pretrained(path, config=config, engine=CPU) as two,
    ):
        for settings in ({"keep": "text"}, {"keep": "all"}, {"keep": "all", "context": False}):
            want, found = (binarizer(page, **settings).probability for binarizer in (one, two))
            assert np.abs(want - found).max() < 1e-4
            results[str(settings)] = found
    text, everything, alone = results.values()
    assert np.abs(text - everything).max() > 1e-3
    assert np.abs(alone - everything).max() > 1e-3


def test_context_needs_no_torch(contextual, tmp_path):
    network, path = contextual
    np.save(tmp_path / "page.npy", text_page(150, 130))
    code = without("torch", "safetensors", "onnx", "onnxscript") + (
        "import warnings\nimport numpy as np\nwarnings.simplefilter('ignore')\n"
        "from drmamba import Binarizer\n"
        f"with Binarizer.from_pretrained({str(path)!r}) as binarizer:\n"
        "    page = binarizer(np.load('page.npy'), keep='all', scale=1.0, windows={'window': 96, 'stride': 64})\n"
        "np.save('found.npy', page.probability)\n"
        "assert not [m for m in sys.modules if m.startswith('torch.')], 'torch was imported'\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    windows = {"window": 96, "stride": 64}
    with Binarizer(network, engine=CPU) as one:
        want = one(np.load(tmp_path / "page.npy"), keep="all", scale=1.0, windows=windows)
    assert np.abs(np.load(tmp_path / "found.npy") - want.probability).max() < 1e-4


def test_a_file_without_the_inputs_still_runs(exported):
    """An export from before there were these inputs, of a network whose config names them."""
    old = onnx.load(exported)
    about = {entry.key: entry.value for entry in old.metadata_props}
    config = json.loads(about["config"]) | {"context": 4, "conventions": ["contest", "all"]}
    onnx.helper.set_model_props(old, about | {"config": json.dumps(config)})
    runtime = OnnxRuntime(old.SerializeToString(), CPU)
    assert (runtime.context, runtime.conventions) == (0, ())
    assert runtime.see_page(None, text_page(20, 20)) is None
    page = text_page(64, 64)[None]
    assert np.array_equal(
        runtime.run(None, page, 1.0, convention=1), OnnxRuntime(exported, CPU).run(None, page, 1.0)
    )


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
