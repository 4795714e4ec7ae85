"""Windows and macOS have no /proc, and Windows has neither `resource` nor `fcntl`: the main job needs none of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image

# Python runs this before anything else, in the decoding process as well.
HIDING = """
import builtins, io, os, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in ("resource", "fcntl", "pwd", "grp", "termios"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
for name in ("resource", "fcntl", "pwd", "grp", "termios"):
    sys.modules.pop(name, None)
for name in ("sched_getaffinity", "O_NONBLOCK", "O_NOFOLLOW", "O_DIRECTORY"):
    if hasattr(os, name):
        delattr(os, name)

def without_proc(opener):
    def opened(file, *args, **options):
        if isinstance(file, (str, bytes, os.PathLike)) and os.fsdecode(file).startswith("/proc"):
            raise FileNotFoundError(2, "No such file or directory", os.fsdecode(file))
        return opener(file, *args, **options)
    return opened

builtins.open = io.open = without_proc(io.open)
os.open = without_proc(os.open)
"""

JOB = """
import sys
for name in ("resource", "fcntl"):
    try:
        __import__(name)
    except ImportError:
        continue
    raise SystemExit(f"{name} is not hidden")
sys.argv = ["drmamba", "binarize", "scan.png", "-o", "out", "--report", "report.jsonl", "--workers", "1"]
from drmamba.cli import main
main()
"""


def test_the_main_job_runs_where_these_are_missing(tmp_path):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(HIDING)
    page = np.full((96, 128), 210, np.uint8)
    page[20:70:12, 10:110] = 40
    Image.fromarray(page).save(tmp_path / "scan.png")
    places = [str(hidden), str(Path(__file__).parents[1] / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))}
    done = subprocess.run(
        [sys.executable, "-c", JOB], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "1 done" in done.stderr
    (line,) = (tmp_path / "report.jsonl").read_text().splitlines()
    assert json.loads(line)["status"] == "done"
    assert (tmp_path / "out" / "scan.png").is_file()


def test_no_module_of_the_core_imports_them_when_it_is_imported():
    code = "import drmamba.cli.binarize, drmamba.inference.batch, drmamba.images.reading.decoder_main, sys;"
    probe = (
        code + "print([name for name in ('resource', 'fcntl') if name in sys.modules and name not in before])"
    )
    begin = "import subprocess, tempfile, sys; before = set(sys.modules);"
    done = subprocess.run([sys.executable, "-c", begin + probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
