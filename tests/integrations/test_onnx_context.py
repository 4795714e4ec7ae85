"""Exported models with page context and conventions."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from exported_models import CPU, text_page

from drmamba.config import InferenceConfig
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.runtime import onnx as onnx_runtime
from drmamba.inference.runtime.onnx import OnnxRuntime
from drmamba.inference.runtime.torch import TorchRuntime
from drmamba.model import context, page_tiles
from drmamba.model.fuse import fused

pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::drmamba.inference.binarizer.UntrainedWarning")


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
    probability, *features = runtime._session.run(["probability", "features_3", "features_4"], feed)
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
