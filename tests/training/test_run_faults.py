"""Runs with damaged files, beside other runs, and after runs that were killed."""

import json
import subprocess
import sys

import pytest
from PIL import Image, ImageChops

from drmamba import checkpoint
from drmamba.checkpoint import Provenance
from drmamba.config import replace_values
from drmamba.errors import CheckpointError, DataError, TrainingError
from drmamba.files import PARTIAL_SUFFIX
from drmamba.training.initialization import initial_network
from drmamba.training.learner import Learner
from drmamba.training.log import COLUMNS, TrainingLog, read_log
from drmamba.training.run import train
from drmamba.training.run_data import RunData
from drmamba.training.run_directory import RunDirectory
from drmamba.training.state import Position, load_state, save_state


def flip_byte(path):
    """Change one byte of the last tensor, which no parser can notice."""
    data = bytearray(path.read_bytes())
    data[-3] ^= 0x10
    path.write_bytes(data)


def test_a_flipped_byte_in_a_checkpoint_is_noticed(quick, tmp_path):
    learner = Learner(initial_network(quick), quick)
    save_state(tmp_path / "last.safetensors", learner, Position(step=3))
    assert load_state(tmp_path / "last.safetensors", learner).step == 3
    flip_byte(tmp_path / "last.safetensors")
    with pytest.raises(TrainingError, match=r"last\.safetensors is damaged"):
        load_state(tmp_path / "last.safetensors", learner)


def test_a_flipped_byte_in_a_model_is_noticed(quick, tmp_path):
    path = tmp_path / "model.safetensors"
    for half in (False, True):
        checkpoint.save(path, initial_network(quick), Provenance(), half=half)
        checkpoint.load(path)
        flip_byte(path)
        with pytest.raises(CheckpointError, match=r"model\.safetensors is damaged"):
            checkpoint.load(path)


def test_two_processes_do_not_train_in_one_folder(quick, tmp_path):
    folder = RunDirectory(tmp_path / "run")
    folder.begin(quick)
    with folder.lock(), pytest.raises(TrainingError, match="another process is training in"):
        train(quick, folder.root, resume=True, shown=False)
    folder.lock().release()


def test_a_damaged_log_is_read_as_far_as_it_is_whole(tmp_path):
    path = tmp_path / "log.csv"
    rows = [",".join([str(step), *["1.0"] * (len(COLUMNS) - 1)]) for step in (1, 2, 3)]
    path.write_bytes("\n".join([",".join(COLUMNS), *rows, "4,0."]).encode() + b"\n" + bytes(300))
    assert [row["step"] for row in read_log(path)] == ["1", "2", "3"]
    TrainingLog(path, 2).close()
    assert [row["step"] for row in read_log(path)] == ["1", "2"]
    path.write_bytes(b"")
    assert read_log(path) == []


DEEP = pytest.param(b"[" * 100_000, id="deep")


@pytest.mark.parametrize("content", [b"", b"\0" * 50, b"[]", b'{"pages": [{"year": 1', DEEP])
def test_a_damaged_manifest_is_an_error_that_says_what_to_do(quick, tmp_path, content):
    folder = RunDirectory(tmp_path / "run")
    folder.begin(quick)
    folder.manifest.write_bytes(content)
    with pytest.raises(TrainingError, match=r"manifest\.json .*; delete it, and the next run records"):
        RunData.of(quick).record(folder)
    folder.manifest.unlink()
    RunData.of(quick).record(folder)
    assert json.loads(folder.manifest.read_text())["hashes"]


def test_wrong_data_stops_a_run_before_its_folder_is_made(quick, years, tmp_path):
    truth = years / "2001/gt/P0.png"
    with Image.open(truth) as image:
        inverted = ImageChops.invert(image.convert("L"))
    inverted.convert("1").save(truth)
    with pytest.raises(DataError, match="inverted or of another page"):
        train(quick, tmp_path / "run", shown=False)
    assert not (tmp_path / "run").exists()


def test_a_model_that_has_seen_held_out_pages_is_refused_by_their_content(quick, tmp_path):
    other = replace_values(quick, {"source": {"hold_out": "2001"}})
    hashes = RunData.of(other).inspect()
    path = tmp_path / "first.safetensors"
    checkpoint.save(path, initial_network(quick), Provenance(data=("renamed",), page_hashes=tuple(hashes)))
    run = RunData.of(replace_values(quick, {"source": {"init": str(path)}}))
    with pytest.raises(TrainingError, match=r"was trained on pages that this run would be scored on \(200"):
        run.inspect()
    checkpoint.save(path, initial_network(quick), Provenance(data=("renamed",), page_hashes=("ab" * 128,)))
    assert "ab" * 128 in run.inspect()


def test_a_run_removes_what_killed_runs_have_left_and_its_model_knows_its_pages(quick, tmp_path):
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    root = tmp_path / "run"
    root.mkdir()
    (root / f".{int(dead.stdout)}-abc{PARTIAL_SUFFIX}").write_bytes(b"half")
    result = train(replace_values(quick, {"train": {"steps": 1}}), root, shown=False)
    assert not [path.name for path in root.iterdir() if path.name.startswith(".")]
    hashes = checkpoint.read_header(result.directory.model)[1].page_hashes
    assert set(hashes) == set(RunData.of(quick).inspect())
