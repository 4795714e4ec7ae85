"""Two processes with a batch each learn what one process with both batches learns."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from drmamba.config import RunConfig, replace_values
from drmamba.model.convnext import SIZES
from drmamba.training.log import read_log
from drmamba.training.run import train
from drmamba.training.run_directory import RunDirectory

PROGRAM = """
import json, sys, warnings
from pathlib import Path
from drmamba.model.convnext import SIZES
from drmamba.training.run_directory import RunDirectory
from drmamba.training.run import train

SIZES["convnext_atto"] = tuple(map(tuple, json.loads(sys.argv[3])))  # as in this test's own process
warnings.simplefilter("error")
config = RunDirectory(Path(sys.argv[1])).config()
result = train(config, sys.argv[2], devices=2, accelerator="cpu", shown=False)
assert result.finished
"""


@pytest.mark.skipif(not torch.distributed.is_gloo_available(), reason="this torch has no gloo")
def test_two_processes_equal_one_with_twice_the_batch(quick: RunConfig, tmp_path: Path) -> None:
    quick = replace_values(
        quick, {"train": {"steps": 3, "batch": 2, "accumulation": 2, "threads": 1, "validations": 0}}
    )
    one = replace_values(quick, {"train": {"batch": 4}})
    train(one, tmp_path / "one", accelerator="cpu", shown=False)
    RunDirectory(tmp_path / "settings").begin(quick)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    subprocess.run(
        [
            sys.executable,
            program,
            tmp_path / "settings",
            tmp_path / "two",
            json.dumps(SIZES["convnext_atto"]),
        ],
        check=True,
        timeout=200,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    rows = [read_log(tmp_path / name / "log.csv") for name in ("one", "two")]
    assert len(rows[0]) == 3
    for single, double in zip(*rows, strict=True):
        for name in ("loss", "sdf", "cldice", "aux"):
            assert float(double[name]) == pytest.approx(float(single[name]), rel=1e-4), name
        assert float(double["norm"]) == pytest.approx(float(single["norm"]), rel=5e-3)
    single, double = (load_file(tmp_path / name / "last.safetensors") for name in ("one", "two"))
    statistics = [name for name in single if name.startswith("model/") and name.endswith("running_var")]
    assert statistics
    for name in statistics:
        torch.testing.assert_close(double[name], single[name], rtol=1e-3, atol=1e-5)
