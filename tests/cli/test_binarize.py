"""`drmamba binarize` as its users meet it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from drmamba.cli.binarize import command
from drmamba.cli.types import ByteSize
from drmamba.errors import BackendError, CheckpointError, ConfigError, InputError
from drmamba.images import read_ink

sys.path.insert(0, str(Path(__file__).parents[1] / "inference"))
from stand_in import Darkness, save, text_page

from drmamba.checkpoint import Provenance


@pytest.fixture
def dark(monkeypatch):
    """The command with a network of one line behind it."""
    import drmamba.inference.binarizer as module

    loaded = {"trained": True}

    def load(*_):
        return Darkness(), Provenance(trained=loaded["trained"]), "dark"

    monkeypatch.setattr(module, "load_model", load)
    return loaded


@pytest.fixture
def sources(tmp_path):
    for i in range(3):
        save(tmp_path / f"in/sub/{i}.jpg", text_page(seed=i), dpi=(300, 300), quality=95)
    return tmp_path / "in"


def run(*args):
    return CliRunner().invoke(command, [str(arg) for arg in args])


@pytest.mark.usefixtures("dark")
def test_another_size_is_said_and_no_reason_to_look(tmp_path):
    save(tmp_path / "in/fine.png", text_page(300, 300, stroke=2))
    done = run(tmp_path / "in", "-o", tmp_path / "out", "--no-turn")
    assert "0 flagged" in done.stderr
    assert "flags: rescaled 1" in done.stderr
    assert "look at" not in done.stderr


@pytest.mark.usefixtures("dark")
def test_a_folder(sources, tmp_path):
    done = run(sources, "-o", tmp_path / "out", "--report", tmp_path / "out/report.jsonl", "--workers", 2)
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    assert "3 done, 0 skipped, 0 failed" in done.stderr
    assert "MP/s" in done.stderr
    for i in range(3):
        np.testing.assert_array_equal(
            read_ink(tmp_path / f"out/sub/{i}.png"), np.asarray(Image.open(sources / f"sub/{i}.jpg")) < 128
        )
    lines = [json.loads(line) for line in (tmp_path / "out/report.jsonl").read_text().splitlines()]
    assert len(lines) == 3
    assert all(line["status"] == "done" and line["error"] is None for line in lines)
    again = run(sources, "-o", tmp_path / "out", "--report", tmp_path / "out/report.jsonl")
    assert again.exit_code == 0
    assert "0 done, 3 skipped, 0 failed" in again.stderr
    assert [json.loads(line) for line in (tmp_path / "out/report.jsonl").read_text().splitlines()] == lines


@pytest.mark.usefixtures("dark")
def test_a_bad_page_is_named_and_the_exit_code_is_one(sources, tmp_path):
    (sources / "bad.tif").write_bytes(b"II*\0 nothing")
    done = run(sources, "-o", tmp_path / "out")
    assert done.exit_code == 1
    assert "3 done, 0 skipped, 1 failed" in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "bad.tif" in line]
    assert line.startswith("drmamba: ")


@pytest.mark.usefixtures("dark")
def test_nothing_to_do_and_wrong_usage(sources, tmp_path):
    (tmp_path / "empty").mkdir()
    assert isinstance(run(tmp_path / "empty", "-o", tmp_path / "out").exception, InputError)
    assert isinstance(run(sources, "-o", tmp_path / "out", "--threshold", 2).exception, ConfigError)
    assert isinstance(run(sources, "-o", tmp_path / "out", "--stride", 700).exception, ConfigError)
    assert isinstance(run(sources, "-o", tmp_path / "out", "--stride", 0).exception, ConfigError)
    assert run(sources, "-o", tmp_path / "out", "--max-memory", "lots").exit_code == 2
    assert run(sources, "-o", tmp_path / "out", "--scale", "large").exit_code == 2
    assert run().exit_code == 2


@pytest.mark.usefixtures("dark")
def test_settings_reach_the_report(sources, tmp_path):
    knobs = [
        "--threshold",
        0.4,
        "--suppress",
        1.5,
        "--scale",
        1.0,
        "--window",
        256,
        "--no-invert",
        "--format",
        "tiff",
    ]
    run(sources, "-o", tmp_path / "out", "--report", tmp_path / "r.jsonl", *knobs)
    settings = json.loads((tmp_path / "r.jsonl").read_text().splitlines()[0])["settings"]
    assert settings["windows"] == {"window": 256, "stride": 224, "fit": True}
    assert (settings["threshold"], settings["suppress"], settings["scale"]) == (0.4, 1.5, 1.0)
    assert (settings["invert"], settings["margins"], settings["format"]) == (False, True, ".tif")


@pytest.mark.usefixtures("dark")
def test_the_papers_protocol(sources, tmp_path):
    run(sources, "-o", tmp_path / "out", "--report", tmp_path / "r.jsonl", "--protocol", "paper")
    settings = json.loads((tmp_path / "r.jsonl").read_text().splitlines()[0])["settings"]
    assert settings["windows"] == {"window": 512, "stride": 256, "fit": False}
    assert (settings["scale"], settings["invert"], settings["margins"], settings["min_contrast"]) == (
        1.0,
        False,
        False,
        0,
    )


@pytest.mark.usefixtures("dark")
def test_soft_pages_and_one_file(sources, tmp_path):
    assert run(sources / "sub/0.jpg", "-o", tmp_path / "page.pdf", "--soft").exit_code == 0
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    with Image.open(tmp_path / "page.soft.png") as soft:
        assert soft.mode == "L"


def test_an_untrained_model_is_told_loudly(dark, sources, tmp_path):
    dark["trained"] = False
    done = run(sources, "-o", tmp_path / "out", "--report", tmp_path / "r.jsonl")
    assert "WARNING" in done.stderr
    assert "UNTRAINED" in done.stderr
    assert all(
        "untrained" in json.loads(line)["flags"] for line in (tmp_path / "r.jsonl").read_text().splitlines()
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [("1500MB", 1_500_000_000), ("2GB", 2 * 10**9), ("1.5GiB", 3 * 2**29), ("700m", 7 * 10**8), ("9", 9)],
)
def test_sizes(text, size):
    assert ByteSize().convert(text, None, None) == size


@pytest.mark.parametrize("again", [False, True])
def test_ctrl_c_finishes_the_page_in_hand_and_says_how_to_resume(tmp_path, again):
    """The program itself, on pages that take a while each."""
    for i in range(30):
        save(tmp_path / f"in/{i:02d}.png", text_page(700, 700, seed=i))
    program = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "drmamba",
            "binarize",
            str(tmp_path / "in"),
            "-o",
            str(tmp_path / "out"),
            "--workers",
            "1",
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 100
    while not list((tmp_path / "out").glob("*.png")) and time.monotonic() < deadline:
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
    if again:
        time.sleep(0.3)
        program.send_signal(signal.SIGINT)
    _, words = program.communicate(timeout=100)
    assert program.returncode == 130, words
    assert "the same command resumes" in words.lower()
    done = sorted((tmp_path / "out").glob("*.png"))
    assert 0 < len(done) < 30
    for path in done:
        assert read_ink(path).shape == (700, 700)
    assert not list((tmp_path / "out").glob(".*")) or again


@pytest.mark.usefixtures("dark")
def test_a_report_is_no_scan_and_no_result(sources, tmp_path):
    for report in (sources / "sub/0.jpg", tmp_path / "out/sub/1.png"):
        done = run(sources, "-o", tmp_path / "out", "--report", report)
        assert isinstance(done.exception, InputError)
        assert "is a source or a result" in str(done.exception)
    done = run(sources, "-o", tmp_path / "out", "--report", "s3://bucket/report.jsonl")
    assert done.exit_code == 2
    assert "not a URI" in done.stderr


@pytest.mark.usefixtures("dark")
def test_overwriting_some_pages_keeps_the_report_of_the_others(sources, tmp_path):
    report = tmp_path / "report.jsonl"
    assert run(sources, "-o", tmp_path / "out", "--report", report).exit_code == 0
    again = run(sources / "sub", "-o", tmp_path / "out/sub", "--report", report, "--overwrite")
    assert again.exit_code == 0, again.output
    assert len(report.read_text().splitlines()) == 3
    assert run(sources, "-o", tmp_path / "out", "--report", "/dev/full").exit_code == 1


@pytest.mark.usefixtures("dark")
def test_an_output_folder_that_cannot_be_made_is_told_first(sources, tmp_path):
    (tmp_path / "file").touch()
    done = run(sources, "-o", tmp_path / "file" / "out")
    assert isinstance(done.exception, InputError)
    assert "cannot make the folder" in str(done.exception)


@pytest.mark.usefixtures("dark")
def test_the_precision_is_a_setting_of_the_result(sources, tmp_path, monkeypatch):
    monkeypatch.setattr("drmamba.inference.runtime.torch.has_bfloat16", lambda _: True)
    report = tmp_path / "report.jsonl"
    done = run(sources, "-o", tmp_path / "out", "--report", report, "--precision", "bfloat16")
    assert done.exit_code == 0, done.output
    assert {json.loads(line)["settings"]["precision"] for line in report.read_text().splitlines()} == {
        "bfloat16"
    }
    assert "with other settings" in run(sources, "-o", tmp_path / "out").stderr
    monkeypatch.setattr("drmamba.inference.runtime.torch.has_bfloat16", lambda _: False)
    refused = run(sources, "-o", tmp_path / "out", "--precision", "bfloat16")
    assert isinstance(refused.exception, BackendError)


class TestTheNetworksSituation:
    """`--keep` and `--context`: what reaches the network, and what a model that cannot do it says."""

    @pytest.fixture
    def recorder(self, monkeypatch):
        import drmamba.inference.binarizer as module
        from drmamba.inference.runtime.base import Runtime

        class Recorder(Runtime):
            count, devices, context, conventions = 1, ["memory"], 4, ("contest", "all")

            def __init__(self):
                self.looked, self.asked = 0, []

            def enter(self):
                return None

            def see_page(self, network, reduced):  # noqa: ARG002
                self.looked += 1
                return reduced

            def run(self, network, windows, suppress, precision="float32", **situation):  # noqa: ARG002
                self.asked.append(situation)
                return (windows.mean(3) < 128).astype(np.float32)

        made = Recorder()
        monkeypatch.setattr(module, "load_model", lambda *_: (made, Provenance(trained=True), "recorder"))
        return made

    @pytest.mark.parametrize(
        ("words", "convention", "looked"),
        [
            ([], 0, 3),
            (["--keep", "text"], 0, 3),
            (["--keep", "all"], 1, 3),
            (["--no-context"], 0, 0),
            (["--protocol", "paper"], 0, 0),
            (["--protocol", "paper", "--context", "--keep", "all"], 1, 3),
        ],
    )
    def test_they_reach_the_network(self, recorder, sources, tmp_path, words, convention, looked):
        done = run(sources, "-o", tmp_path / "out", "--no-turn", *words)
        assert done.exit_code == 0, done.output
        assert recorder.looked == looked
        assert {asked.get("convention", 0) for asked in recorder.asked} == {convention}
        assert all(("page" in asked) == bool(looked) for asked in recorder.asked)

    @pytest.mark.usefixtures("recorder")
    def test_another_choice_is_another_result(self, sources, tmp_path):
        """A run with other settings does not take the results of the one before for its own."""
        run(sources, "-o", tmp_path / "out")
        assert "3 skipped" in run(sources, "-o", tmp_path / "out").stderr
        other = run(sources, "-o", tmp_path / "out", "--keep", "all")
        assert "0 done, 0 skipped, 3 failed" in other.stderr
        assert "settings; use --overwrite, or another folder" in other.stderr
        assert "3 done" in run(sources, "-o", tmp_path / "out", "--keep", "all", "--overwrite").stderr

    @pytest.mark.usefixtures("dark")
    def test_a_model_that_knows_text_only_says_so_before_any_page(self, sources, tmp_path):
        done = run(sources, "-o", tmp_path / "out", "--keep", "all", "--no-restore")
        assert isinstance(done.exception, CheckpointError)
        assert "knows text only and cannot be asked for --keep all" in str(done.exception)
        assert not list((tmp_path / "out").rglob("*.png"))

    def test_grey_pictures_need_a_pdf(self, sources, tmp_path):
        done = run(sources, "-o", tmp_path / "out", "--pictures", "grey")
        assert done.exit_code == 2
        assert "only PDF pages show pictures in grey" in done.stderr
        assert not (tmp_path / "out").exists()

    def test_help_is_in_sentences(self):
        words = " ".join(run("--help").output.split())
        assert "text keeps writing alone; all keeps rules, frames, ornaments and drawings as well." in words
        assert "Show the network the whole page, reduced, in addition to each window;" in words
