"""Folders may hold anything: each odd entry costs its own line of the report, at once and without a traceback."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pikepdf
import pytest
from stand_in import binarizer, save, text_page
from unprivileged import as_nobody, open_folder

from drmamba.errors import ImageError, one_line
from drmamba.files import PARTIAL_SUFFIX, open_regular, remove_abandoned, sha256
from drmamba.images import open_pages, read_rgb
from drmamba.images.reading.decoder_process import DecoderProcess
from drmamba.inference.batch import Batch, BatchOptions, tidy
from drmamba.inference.conversion import FileConversion
from drmamba.inference.jobs import FileJob, plan

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")


@pytest.fixture(scope="module")
def dark():
    with binarizer() as made:
        yield made


def run(dark, sources, out, **options):
    started = time.monotonic()
    records = list(Batch(dark, BatchOptions(**options)).run(plan([sources], out)))
    assert time.monotonic() - started < 30
    return {record.input: record for record in records}


def run_as_nobody(dark, sources, out):
    """The same with the rights of an ordinary user; only the decoder, which may not start then, has started before."""
    with DecoderProcess(500_000_000) as reader:
        reader.started()
        with as_nobody():
            jobs = plan([sources], out)
            tidy(jobs)
            return {r.input: r for job in jobs for r in FileConversion(dark).records(job, reader)}


@pytest.fixture
def folder(tmp_path):
    save(tmp_path / "in/good.png", text_page())
    return tmp_path / "in"


def assert_all_but_one_failed(records, folder):
    good = records.pop(str(folder / "good.png"))
    assert good.status == "done"
    for record in records.values():
        assert record.status == "failed"
        assert record.error.isprintable()
    return {name: record.error for name, record in records.items()}


def test_a_pipe_a_socket_and_a_device_are_reported_and_not_waited_for(dark, folder, tmp_path):
    os.mkfifo(folder / "pipe.png")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket.jpg"))
        (folder / "device.tif").symlink_to("/dev/zero")
        (folder / "linked.pdf").symlink_to("pipe.png")
        errors = assert_all_but_one_failed(run(dark, folder, tmp_path / "out"), folder)
    assert len(errors) == 4
    assert "a pipe, not a regular file" in errors[str(folder / "pipe.png")]
    assert "a pipe, not a regular file" in errors[str(folder / "linked.pdf")]
    assert "a socket, not a regular file" in errors[str(folder / "socket.jpg")]
    assert "a device, not a regular file" in errors[str(folder / "device.tif")]


@pytest.mark.parametrize("read", [read_rgb, lambda path: list(open_pages(path)), DecoderProcess(10**8).open])
def test_no_reader_waits_for_a_pipe(folder, read):
    os.mkfifo(folder / "pipe.png")
    with pytest.raises(ImageError, match=r"pipe\.png.* not a regular file"):
        read(folder / "pipe.png")
    for function in (sha256, open_regular):
        with pytest.raises(OSError, match="not a regular file"):
            function(folder / "pipe.png")


def test_links_to_themselves_and_to_nothing_cost_one_line_each(dark, folder, tmp_path):
    (folder / "itself.png").symlink_to("itself.png")
    (folder / "nothing.png").symlink_to("not here.png")
    (folder / "round").symlink_to("round")
    (folder / "there").symlink_to("back")
    (folder / "back").symlink_to("there")
    errors = assert_all_but_one_failed(run(dark, folder, tmp_path / "out"), folder)
    assert sorted(errors) == [str(folder / "itself.png"), str(folder / "nothing.png")]


@pytest.mark.parametrize("mode", [0o000, 0o400, 0o200])
def test_a_closed_folder_costs_one_line(dark, mode):
    with open_folder() as top:
        save(top / "in/good.png", text_page())
        save(top / "in/closed/page.png", text_page())
        (top / "out").mkdir()
        (top / "out").chmod(0o777)
        (top / "in/closed").chmod(mode)
        errors = assert_all_but_one_failed(run_as_nobody(dark, top / "in", top / "out"), top / "in")
        assert len(errors) == 1
        assert "Permission denied" in next(iter(errors.values()))


def test_folders_nested_deeper_than_a_path_may_be_long(dark, folder, tmp_path):
    before = Path.cwd()
    try:
        os.chdir(folder)
        for _ in range(1500):
            Path("nested").mkdir()
            os.chdir("nested")
        save(Path("deep.png"), text_page())
    finally:
        os.chdir(before)
    errors = assert_all_but_one_failed(run(dark, folder, tmp_path / "out"), folder)
    assert len(errors) == 1
    assert "File name too long" in next(iter(errors.values()))
    subprocess.run(["rm", "-r", str(folder)], check=True)  # Python's own way recurses too deeply.


@pytest.mark.parametrize("length", [240, 251, 255])
@pytest.mark.parametrize("beside", [True, False])
def test_names_of_the_greatest_length_get_results(dark, tmp_path, length, beside):
    sources = [tmp_path / "in" / (letter * (length - 4) + ".bmp") for letter in "xy"]
    for path in (*sources, sources[0].with_suffix(".png")):
        save(path, text_page())
    out = None if beside else tmp_path / "out"
    records = run(dark, tmp_path / "in", out, soft=True)
    assert [record.status for record in records.values()] == ["done"] * 3
    assert len({record.output for record in records.values()}) == 3
    again = run(dark, tmp_path / "in", out, soft=True)
    assert [record.status for record in again.values()] == ["skipped"] * 3


def test_pages_of_a_long_name_keep_their_numbers(tmp_path):
    job = FileJob(tmp_path / "in.pdf", tmp_path / ("é" * 125 + ".png"))
    names = [job.page(number, 12).name for number in range(1, 13)] + [job.soft(3, 12).name]
    assert len(set(names)) == 13
    assert all(len(os.fsencode(name)) <= 255 for name in names)
    assert names[1].endswith("-0002.png")


def test_line_breaks_and_escape_sequences_in_names_forge_no_line(dark, folder, tmp_path):
    name = "page\ndrmamba: 1 done\x1b[2J.png"
    (folder / name).write_bytes(b"damaged")
    errors = assert_all_but_one_failed(run(dark, folder, tmp_path / "out"), folder)
    assert "page\\ndrmamba: 1 done\\x1b[2J.png" in errors[str(folder / name)]
    command = [sys.executable, "-m", "drmamba", "binarize", str(folder / name), "-o", str(tmp_path / "new")]
    words = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert "\x1b" not in words
    assert "\ndrmamba: 1 done" not in words
    assert one_line("a\udcffb\u2028") == "a\\udcffb\\u2028"


def hostile_pdf(path):
    """Write a small PDF whose objects take many times its size when it is opened."""
    with pikepdf.new() as pdf:
        many = pikepdf.Object.parse(b"[" + b"[[0]]" * 200_000 + b"]")
        pdf.docinfo["/drmamba"] = "{}"
        # The parser may take an object that needs too much memory for an empty one, so the record is part of it.
        pdf.docinfo["/Kept"] = many
        pdf.save(path, object_stream_mode=pikepdf.ObjectStreamMode.generate, compress_streams=True)


def test_existing_results_are_not_opened_in_this_process(dark, folder, tmp_path, monkeypatch):
    """Whatever lies where a result would go is foreign, so the parent opens none of it."""

    def opened(*_, **__):
        raise AssertionError("an existing file was parsed outside the decoding process")

    run(dark, folder, tmp_path / "out")
    hostile_pdf(tmp_path / "out/good.pdf")
    with monkeypatch.context() as patch:
        patch.setattr(pikepdf, "open", opened)
        patch.setattr("PIL.Image.open", opened)
        assert [r.status for r in run(dark, folder, tmp_path / "out").values()] == ["skipped"]
        (record,) = Batch(dark).run([FileJob(folder / "good.png", tmp_path / "out/good.pdf")])
    assert record.status == "failed"
    assert "not made by drmamba" in record.error


def test_a_record_that_needs_too_much_memory_is_no_record(tmp_path):
    hostile_pdf(tmp_path / "large.pdf")
    with DecoderProcess(30_000_000) as small:
        assert small.record(tmp_path / "large.pdf") == ""


def test_a_pipe_where_a_result_would_go_is_reported(dark, folder, tmp_path):
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "out/good.png")
    (record,) = run(dark, folder, tmp_path / "out").values()
    assert record.status == "failed"
    assert "not made by drmamba" in record.error


def test_leftovers_that_cannot_be_removed_stop_no_run(dark):
    """A file of another user in a folder with a sticky bit, and a folder with the name of an unfinished file."""
    with open_folder() as top:
        save(top / "in/good.png", text_page())
        out = top / "out"
        out.mkdir()
        dead = subprocess.run(
            [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
        )
        foreign, directory = (out / f".{int(dead.stdout)}-{name}{PARTIAL_SUFFIX}" for name in ("a", "b"))
        foreign.write_bytes(b"half")
        directory.mkdir()
        (out / f".{10**30}-c{PARTIAL_SUFFIX}").write_bytes(b"half")
        out.chmod(0o1777)
        assert [r.status for r in run_as_nobody(dark, top / "in", out).values()] == ["done"]
        remove_abandoned(top / "not here")
        assert directory.is_dir()


def test_a_half_finished_file_of_many_pages_goes_on(dark, tmp_path):
    from PIL import Image

    pages = [Image.fromarray(text_page(90, 120, seed=i)) for i in range(5)]
    (tmp_path / "in").mkdir()
    pages[0].save(tmp_path / "in/book.tif", save_all=True, append_images=pages[1:])
    batch = Batch(dark)
    for number, _ in enumerate(batch.run(plan([tmp_path / "in"], tmp_path / "out")), 1):
        if number == 2:
            batch.stop()
    made = {p: p.stat().st_mtime_ns for p in (tmp_path / "out").iterdir()}
    assert 2 <= len(made) < 5
    records = list(Batch(dark).run(plan([tmp_path / "in"], tmp_path / "out")))
    assert [r.status for r in records] == ["skipped"] * len(made) + ["done"] * (5 - len(made))
    assert [json.loads(r.line())["page"] for r in records] == [1, 2, 3, 4, 5]
    assert {p: p.stat().st_mtime_ns for p in made} == made
