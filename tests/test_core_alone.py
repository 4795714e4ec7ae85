"""The main job needs no extra: torch, numba, matplotlib and scipy are never imported, and a missing one is one line."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drmamba.errors import install_command

EXAMPLES = Path(__file__).parents[1] / "examples"
EXTRAS = ("torch", "numba", "matplotlib", "scipy", "safetensors", "onnx", "onnxscript", "lightning")
REFUSED = f"""
import sys

class Refusal:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Refusal())
"""


def run(code, folder, *, fails=False):
    """Run Python code in a process in which the extras cannot be imported; return what it wrote."""
    done = subprocess.run([sys.executable, "-c", REFUSED + code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == (2 if fails else 0), done.stderr
    assert "Traceback" not in done.stderr
    return done


def command(*arguments):
    return f"sys.argv = ['drmamba', *{list(arguments)}]\nfrom drmamba.cli import main\nmain()\n"


def test_pages_are_binarized(tmp_path):
    with Image.open(EXAMPLES / "stained.jpg") as sample:
        sample.crop((0, 0, 500, 300)).save(tmp_path / "scan.png")
    done = run(command("binarize", "scan.png", "-o", "out", "--report", "report.jsonl", "--soft"), tmp_path)
    assert "ONNX Runtime" in done.stderr
    line = json.loads((tmp_path / "report.jsonl").read_text())
    assert line["status"] == "done"
    assert line["settings"]["precision"] == "float32"
    assert 0.01 < line["ink"] < 0.5


def test_large_files_are_read_in_bands(tmp_path):
    """A PNG whose rows are filtered is unfiltered without compiled code."""
    Image.fromarray(np.add.outer(np.arange(300), np.arange(200)).astype(np.uint8)).save(tmp_path / "page.png")
    code = (
        "from pathlib import Path\nimport numpy as np\nfrom PIL import Image\n"
        "from drmamba.images.reading.banded import BandedPngPage\n"
        "page = BandedPngPage(Image.open('page.png'), Path('page.png'))\n"
        "assert np.array_equal(page.rows(0, 300)[:, :, 0], np.asarray(Image.open('page.png')))\n"
    )
    run(code, tmp_path)


def test_the_maps_are_made(tmp_path):
    np.save(tmp_path / "page.npy", np.random.default_rng(0).integers(0, 255, (60, 80, 3), np.uint8))
    code = (
        "import numpy as np\nfrom drmamba import Binarizer\n"
        "with Binarizer.from_pretrained(explain=True) as binarizer:\n"
        "    page = binarizer(np.load('page.npy'))\n"
        "assert page.explanation.taken.shape == (60, 80)\n"
        "assert page.explanation.D.std() > 0\n"
    )
    run(code, tmp_path)


def test_the_engine_of_the_service_runs(tmp_path):
    code = (
        "from drmamba import Binarizer\nfrom drmamba.config import ServiceConfig\n"
        "from drmamba.service.engine import ConversionEngine\n"
        "with Binarizer.from_pretrained() as binarizer:\n"
        "    engine = ConversionEngine(binarizer, ServiceConfig())\n"
        "    assert engine.ready.wait(60), engine.fault\n"
        "    engine.close()\n"
    )
    run(code, tmp_path)


def test_info_and_help_are_printed(tmp_path):
    facts = json.loads(run(command("info", "--json"), tmp_path).stdout)
    assert facts["runtime"].startswith("ONNX Runtime")
    assert facts["parameters"] > 1e6
    assert "CPUExecutionProvider" in facts["providers"]
    assert "binarize" in run(command("--help"), tmp_path).stdout
    assert "--precision" in run(command("binarize", "--help"), tmp_path).stdout


@pytest.mark.parametrize(
    ("arguments", "library", "extra"),
    [
        (["binarize", "scan.png", "--runtime", "torch"], "torch", "torch"),
        (["train", "--data", "synthetic", "-o", "run"], "torch", "train"),
        (["evaluate", "scan.png", "scan.png"], "numba", "evaluate"),
        (["explain", "scan.png", "-o", "figure.png"], "matplotlib", "evaluate"),
    ],
)
def test_one_line_says_what_to_install(arguments, library, extra, tmp_path):
    Image.new("L", (40, 40), 200).save(tmp_path / "scan.png")
    done = run(command(*arguments), tmp_path, fails=True)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"drmamba: {library} is not installed")
    assert line.endswith(f"get it with: {install_command(extra)}")


def test_the_python_interface_says_what_to_install(tmp_path):
    code = (
        "import drmamba\ntry:\n    drmamba.DRMamba\nexcept drmamba.DRMambaError as error:\n    print(error)\n"
    )
    assert "torch is not installed" in run(code, tmp_path).stdout
