"""Exported models run where torch is not installed."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from exported_models import CPU, ROOT, text_page
from PIL import Image

import drmamba
from drmamba.config import (
    replace_values,
)
from drmamba.files import sha256
from drmamba.inference.binarizer import Binarizer

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::drmamba.inference.binarizer.UntrainedWarning")


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
    with Binarizer.from_pretrained("lite", engine=replace(CPU, runtime="torch")) as one:
        want = one(page)
    found = ~np.asarray(Image.open(tmp_path / "out" / "scan.png"))
    sure = np.abs(want.probability - 0.5) > 1e-4
    assert (found == want.binary)[sure].all()


def test_without_torch_another_model_says_what_it_needs(tmp_path):
    Image.fromarray(text_page(40, 40)).save(tmp_path / "scan.png")
    code = (
        without("torch")
        + "import drmamba.cli\nsys.argv = ['drmamba', 'binarize', 'scan.png', '--model', 'tiny']\ndrmamba.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "torch is not installed (the model 'tiny' needs it" in done.stderr
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
