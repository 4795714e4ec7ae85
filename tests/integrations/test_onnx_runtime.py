"""Exported models give the same probabilities as torch, with any number of workers."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from exported_models import CPU, EXAMPLES, text_page
from PIL import Image

from drmamba.checkpoint import Provenance
from drmamba.cli import group
from drmamba.config import BlockConfig, EngineConfig, ModelConfig, WindowConfig
from drmamba.errors import BackendError, CheckpointError, ConfigError
from drmamba.files import sha256
from drmamba.inference import models
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.models import load_model
from drmamba.inference.runtime.onnx import CPU as CPU_PROVIDER
from drmamba.inference.runtime.onnx import OnnxRuntime, providers
from drmamba.inference.runtime.pool import WorkerPool
from drmamba.inference.runtime.torch import TorchRuntime
from drmamba.inference.tiling import probability
from drmamba.integrations import onnx as exporting
from drmamba.model.fuse import fused
from drmamba.model.network import DRMamba

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::drmamba.inference.binarizer.UntrainedWarning")


TORCH = EngineConfig(runtime="torch")


@pytest.fixture(scope="module")
def windows_alone(small_encoder, tmp_path_factory):  # noqa: ARG001
    """The export of a network without page context and conventions."""
    torch.manual_seed(0)
    config = ModelConfig(encoder="convnext_atto", decoder=(8, 8, 8), block=BlockConfig(width=8))
    path = tmp_path_factory.mktemp("onnx") / "alone.onnx"
    path.write_bytes(exporting.convert(DRMamba(config).eval(), Provenance()))
    return path


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
    network = load_model("lite", TORCH)[0]
    want = TorchRuntime(network, CPU).run(fused(network), windows, suppress)
    found = OnnxRuntime(exported, CPU).run(None, windows, suppress)
    assert found.shape == want.shape
    assert found.dtype == np.float32
    assert np.abs(found - want).max() < 1e-4


def test_suppress_changes_the_result(exported):
    runtime, page = OnnxRuntime(exported, CPU), text_page(64, 64)[None]
    assert np.abs(runtime.run(None, page, 0.0) - runtime.run(None, page, 3.0)).max() > 1e-5


def test_the_callers_arithmetic_stays_as_it_is(exported):
    """ONNX Runtime can flush denormal numbers, but does so to whoever loads the first model."""
    OnnxRuntime(exported, CPU).run(None, text_page(64, 64)[None], 1.0)
    assert np.float32(2e-38) * np.float32(0.1) > 0


def test_whole_pages_are_the_same(exported):
    """Two pages of the samples, all of them with `pytest --full`; an untrained model has pixels on the brink."""
    with (
        Binarizer.from_pretrained(
            "lite", engine=EngineConfig(device="cpu", workers=1, runtime="torch")
        ) as one,
        Binarizer.from_pretrained(exported, engine=CPU) as two,
    ):
        trained = one.provenance.trained
        assert two.sha256 == sha256(exported)
        for path in EXAMPLES if os.environ.get("DRMAMBA_FULL") else EXAMPLES[:2]:
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


def test_a_file_without_the_inputs_still_runs(windows_alone):
    """An export from before there were these inputs, of a network whose config names them."""
    old = onnx.load(windows_alone)
    about = {entry.key: entry.value for entry in old.metadata_props}
    config = json.loads(about["config"]) | {"context": 4, "conventions": ["contest", "all"]}
    onnx.helper.set_model_props(old, about | {"config": json.dumps(config)})
    runtime = OnnxRuntime(old.SerializeToString(), CPU)
    assert (runtime.context, runtime.conventions) == (0, ())
    assert runtime.see_page(None, text_page(20, 20)) is None
    page = text_page(64, 64)[None]
    assert np.array_equal(
        runtime.run(None, page, 1.0, convention=1), OnnxRuntime(windows_alone, CPU).run(None, page, 1.0)
    )


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
        ConfigError, match=r"write one with `drmamba export --format onnx -o model.onnx --model tiny`"
    ):
        load_model("tiny", EngineConfig(runtime="onnx"))
    with pytest.raises(BackendError, match="cannot use the device 'cuda'"):
        load_model(exported, EngineConfig(device="cuda"))
    result = CliRunner().invoke(group, ["export", "-o", "model.pb"])
    assert isinstance(result.exception, ConfigError)


def test_the_embedded_model_runs_on_onnx_runtime_unless_torch_is_asked_for():
    assert isinstance(load_model("lite")[0], OnnxRuntime)
    assert not isinstance(load_model("lite", TORCH)[0], OnnxRuntime)


def test_a_gpu_of_torchs_is_preferred(monkeypatch):
    monkeypatch.setattr(models, "has_cuda_driver", lambda: True)
    for there, runtime in ((True, "torch"), (False, "onnx")):
        monkeypatch.setattr(models, "_torch_has_cuda", lambda there=there: there)
        assert models.preferred_runtime(EngineConfig()) == runtime
        assert models.preferred_runtime(EngineConfig(device="cuda:1")) == runtime
        assert models.preferred_runtime(EngineConfig(device="cpu")) == "onnx"
        assert models.preferred_runtime(EngineConfig(runtime="torch")) == "torch"


def test_execution_providers_follow_the_device():
    here, gpu = [CPU_PROVIDER], ["CUDAExecutionProvider", CPU_PROVIDER]
    assert providers("auto", here) == providers("cpu", gpu) == here
    assert providers("auto", gpu) == gpu
    assert providers("cuda:1", gpu) == [("CUDAExecutionProvider", {"device_id": 1}), CPU_PROVIDER]
    with pytest.raises(BackendError, match="cannot use the device 'rocm'"):
        providers("rocm", gpu)


def test_maps_cost_nothing_unless_they_are_asked_for(windows_alone, tmp_path):
    """The operators of the branch run only if `explain` is true; the input may be left out."""
    import onnxruntime

    counts = []
    for asked in ({}, {"explain": np.array(True)}):
        options = onnxruntime.SessionOptions()
        options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "run")
        session = onnxruntime.InferenceSession(windows_alone, options, providers=[CPU_PROVIDER])
        maps = session.run(
            ["maps"], {"page": text_page(64, 96)[None], "suppress": np.array(1, np.float32)} | asked
        )[0]
        events = json.loads(Path(session.end_profiling()).read_text())
        names = [event["args"]["op_name"] for event in events if event["name"].endswith("_kernel_time")]
        counts.append(names.count("ReduceMean"))
        assert maps.shape == ((1, 4, 16, 24) if asked else (0, 4, 0, 0))
    assert counts[1] == counts[0] + 4
