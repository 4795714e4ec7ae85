"""Processes that fork, are interrupted, are killed, or meet another one at the same file."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from stand_in import binarizer, save, text_page

from drmamba.child_process import ChildProcess
from drmamba.config import ReadingConfig
from drmamba.errors import ImageError, InputError, TimeLimitError
from drmamba.files import FileLock
from drmamba.images.reading.decoder_process import MAX_ABANDONED, DecoderProcess, IsolatedFile
from drmamba.inference.records import BatchReport, PageRecord

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def in_a_fork(action):
    """Return what an action says in a forked process; one that waits for ever is killed and says so."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        words = b"nothing was raised"
        try:
            words = str(action()).encode()
        except BaseException as error:
            words = f"{type(error).__name__}: {error}".encode()
        finally:
            os.write(write, words)
            os._exit(0)
    os.close(write)
    killer = threading.Timer(20, os.kill, (child, signal.SIGKILL))
    killer.start()
    with os.fdopen(read, "rb") as answers:
        found = answers.read().decode()
    os.waitpid(child, 0)
    killer.cancel()
    return found or "it waited for ever"


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_binarizer_says_at_once_that_it_was_forked():
    with binarizer() as dark:
        page = text_page()
        assert dark(page).binary.any()
        assert in_a_fork(lambda: dark(page)).startswith("InputError: this Binarizer belongs to the process")
        assert in_a_fork(dark.close) == "None"
        assert dark(page).binary.any()  # The parent goes on.


@needs_fork
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_gets_a_decoder_of_its_own(tmp_path):
    save(tmp_path / "page.png", text_page())
    with DecoderProcess(500_000_000) as decoder:
        own = decoder.started().pid
        assert [page.height for page in decoder.open(tmp_path / "page.png")] == [150]

        def read():
            heights = [page.height for page in decoder.open(tmp_path / "page.png")]
            other = decoder.started().pid
            decoder.close()
            return heights, other

        words = in_a_fork(read)
        assert words.startswith("([150], ")
        assert words != f"([150], {own})"
        assert [page.height for page in decoder.open(tmp_path / "page.png")] == [150]  # It was not killed.


SLOW_CHILD = """
import sys, time
from drmamba.child_process import serve

def answer(request):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        sum(range(1000))
    return {}, b""

serve(answer)
"""
PARENT = """
import sys
from drmamba.child_process import ChildProcess
child = ChildProcess("slow_child")
print(child.started().pid, flush=True)
child.exchange({})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent")
def test_a_child_ends_with_its_parent_in_the_middle_of_an_answer(tmp_path):
    (tmp_path / "slow_child.py").write_text(SLOW_CHILD)
    places = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": places}
    )
    child = int(parent.stdout.readline())
    time.sleep(1)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    with contextlib.suppress(ProcessLookupError):
        for _ in range(150):
            os.kill(child, 0)
            if Path(f"/proc/{child}/stat").exists() and ") Z" in Path(f"/proc/{child}/stat").read_text():
                break  # It has ended, and nobody has asked how.
            time.sleep(0.1)
        else:
            os.kill(child, signal.SIGKILL)
            pytest.fail("the child went on without its parent")


def test_a_private_child_gets_no_secret(monkeypatch):
    monkeypatch.setenv("DRMAMBA_TOKEN", "secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert DecoderProcess(10**8)._variables()["MALLOC_ARENA_MAX"] == "1"
    assert "secret" not in DecoderProcess(10**8)._variables().values()
    assert "PATH" in DecoderProcess(10**8)._variables()
    assert ChildProcess("any")._variables()["DRMAMBA_TOKEN"] == "secret"


def test_a_file_is_given_up_when_its_time_is_over(tmp_path):
    save(tmp_path / "page.png", text_page())
    with DecoderProcess(500_000_000, ReadingConfig(max_seconds=600)) as decoder:
        file = decoder.open(tmp_path / "page.png")
        page = next(iter(file))
        file._left = 0.5  # Starting the decoder took some of the 600 seconds.
        time.sleep(0.6)  # Only the time of the decoder counts.
        page.rows(0, 1)
        os.kill(decoder.started().pid, signal.SIGSTOP)
        started = time.monotonic()
        with pytest.raises(TimeLimitError, match="took more than"):
            page.rows(0, 1)
        assert time.monotonic() - started < 5
        with pytest.raises(TimeLimitError, match=r"page\.png took longer to decode than the 600 s"):
            page.rows(0, 1)


def test_a_file_is_given_up_after_a_few_pages_that_take_too_long(tmp_path, monkeypatch):
    save(tmp_path / "page.png", text_page())
    with DecoderProcess(500_000_000) as decoder:
        file = IsolatedFile(decoder, tmp_path / "page.png", 1)

        def late(*_):
            raise TimeLimitError("took more than 8 s")

        monkeypatch.setattr(decoder, "ask", late)
        for _ in range(MAX_ABANDONED - 1):
            with pytest.raises(ImageError) as caught:
                file.ask({}, 1)
            assert not isinstance(caught.value, TimeLimitError)  # The next page is tried.
        with pytest.raises(TimeLimitError):
            file.ask({}, 1)


def test_two_runs_do_not_write_one_report(tmp_path):
    path = tmp_path / "report.jsonl"
    first = BatchReport(path)
    first.add(PageRecord(status="done", input="a"))
    with pytest.raises(InputError, match=r"another run is writing the report .*; give another name"):
        BatchReport(path)
    first.add(PageRecord(status="done", input="b"))
    first.close()
    second = BatchReport(path)
    second.add(PageRecord(status="done", input="c"))
    second.close()
    assert [json.loads(line)["input"] for line in path.read_text().splitlines()] == ["a", "b", "c"]
    assert [p.name for p in tmp_path.iterdir()] == ["report.jsonl"]


LOCK_HOLDER = """
import sys, time
from pathlib import Path
from drmamba.files import FileLock
lock = FileLock(Path(sys.argv[1]))
print(lock.acquire(), flush=True)
time.sleep(60)
"""


def test_a_lock_ends_with_its_process(tmp_path):
    command = [sys.executable, "-c", LOCK_HOLDER, str(tmp_path / "run")]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert holder.stdout.readline().strip() == b"True"
    with FileLock(tmp_path / "run") as lock:
        assert not lock.acquire()
        holder.kill()
        holder.wait()
        holder.stdout.close()
        assert lock.acquire()
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent")
def test_ctrl_c_during_start_up_exits_as_shells_expect(tmp_path):
    program = """
import sys, drmamba.cli
def interrupted(*_, **__):
    raise KeyboardInterrupt
drmamba.cli.import_module = interrupted
sys.argv = ["drmamba", "info"]
drmamba.cli.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stderr.strip().splitlines()[-1]) == (130, "drmamba: stopped")


SECOND_INTERRUPT = """
import os, signal, sys, threading, time
from pathlib import Path
import drmamba.files
from drmamba.cli import main

real = os.fsync
def slow(handle):
    print("writing", flush=True)
    time.sleep(5)
    real(handle)
os.fsync = slow
sys.argv = ["drmamba", "binarize", sys.argv[1], "-o", sys.argv[2]]
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent")
def test_a_second_ctrl_c_leaves_nothing_half_written(tmp_path):
    save(tmp_path / "in/page.png", text_page())
    program = subprocess.Popen(
        [sys.executable, "-c", SECOND_INTERRUPT, str(tmp_path / "in"), str(tmp_path / "out")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert program.stdout.readline() == "writing\n"
    for _ in range(2):
        program.send_signal(signal.SIGINT)
        time.sleep(0.7)
    _, words = program.communicate(timeout=60)
    assert program.returncode == 130, words
    assert "nothing half-written is left" in words
    assert not list((tmp_path / "out").iterdir())
