"""`-` for standard input and output, named sets of settings, and what contradicts them."""

import io
import os
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from drmamba.cli import group
from drmamba.config import PURPOSES, InferenceConfig
from drmamba.errors import InputError


@pytest.fixture(scope="module")
def scan():
    page = np.full((96, 128), 210, np.uint8)
    page[20:70:12, 10:110] = 40
    page[21:71:12, 10:110] = 40
    buffer = io.BytesIO()
    Image.fromarray(page).save(buffer, "PNG")
    return buffer.getvalue()


def run(*words, given=b""):
    return CliRunner().invoke(
        group, ["binarize", *map(str, words), "--workers", "1"], input=given, catch_exceptions=False
    )


def test_a_page_through_pipes_is_the_page_through_files(tmp_path, scan):
    (tmp_path / "scan.png").write_bytes(scan)
    assert run(tmp_path / "scan.png", "-o", tmp_path / "file.png").exit_code == 0
    command = [sys.executable, "-m", "drmamba", "binarize", "-", "-o", "-", "--workers", "1"]
    done = subprocess.run(command, input=scan, capture_output=True, check=True, env=os.environ)
    assert done.stdout == (tmp_path / "file.png").read_bytes()
    assert b"1 done" in done.stderr
    to_file = run("-", "-o", tmp_path / "piped.png", "--report", tmp_path / "r.jsonl", given=scan)
    assert to_file.exit_code == 0
    assert to_file.stdout_bytes == b""
    assert (tmp_path / "piped.png").read_bytes() == done.stdout
    assert '"input": "-"' in (tmp_path / "r.jsonl").read_text()
    from_file = run(tmp_path / "scan.png", "-o", "-", "--format", "pdf")
    assert from_file.stdout_bytes.startswith(b"%PDF-")


def test_a_damaged_page_is_an_error_about_standard_input(scan):
    result = run("-", given=scan[: len(scan) // 2])
    assert result.exit_code == 1
    assert result.stdout_bytes == b""
    assert "standard input is damaged" in result.stderr
    assert "/tmp" not in result.stderr
    with pytest.raises(InputError, match="standard input is empty"):
        run("-")


def test_several_pages_need_a_document(scan):
    page = Image.open(io.BytesIO(scan))
    buffer = io.BytesIO()
    page.save(buffer, "TIFF", save_all=True, append_images=[page])
    with pytest.raises(InputError, match=r"several pages.*--format pdf"):
        run("-", given=buffer.getvalue())
    kept = run("-", "--format", "same", given=buffer.getvalue())
    assert kept.stdout_bytes.startswith(b"II*\0")
    assert Image.open(io.BytesIO(kept.stdout_bytes)).n_frames == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-", "other.png"], "give no other source"),
        ([".", "-o", "-"], "is a folder"),
        (["-", "--soft"], "--soft needs files"),
        (["-", "--shard", "1/2"], "--shard needs files"),
        (["-", "--engine", "ray"], "--engine needs files"),
        (["-", "--for", "photo", "--protocol", "paper"], "give one of them"),
    ],
)
def test_what_contradicts_itself_is_a_wrong_usage(words, message, scan):
    result = CliRunner().invoke(group, ["binarize", *words], input=scan)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_purpose_is_a_set_of_settings_and_options_take_precedence(tmp_path, scan):
    (tmp_path / "scan.png").write_bytes(scan)

    def settings(*words):
        import json

        assert run(tmp_path / "scan.png", "-o", tmp_path / "a.png", "--overwrite", "--report",
                   tmp_path / "r.jsonl", *words).exit_code == 0  # fmt: skip
        return json.loads((tmp_path / "r.jsonl").read_text().splitlines()[-1])["settings"]

    assert settings("--for", "manuscript")["threshold"] == 0.4
    drawn = settings("--for", "lineart", "--margins")
    assert (drawn["auto_rotate"], drawn["margins"]) == (False, True)
    assert drawn["keep"] in ("text", "all")  # all, if the embedded model has learned it


@pytest.mark.parametrize("name", PURPOSES)
def test_every_purpose_differs_from_the_default_and_is_valid(name):
    config = InferenceConfig(**{"keep": PURPOSES[name].keep} | PURPOSES[name].under({}))
    assert config != InferenceConfig()
    assert PURPOSES[name].under({"threshold": 0.7, "margins": None})["threshold"] == 0.7
