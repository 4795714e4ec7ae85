"""The protocol of child processes: answers with raw bytes, errors as answers, and a crash that is noticed."""

import os
import sys

import pytest

from drmamba.child_process import ChildProcess, describe_error
from drmamba.errors import ImageError

CHILD = """
import os, sys
from drmamba.child_process import serve
from drmamba.errors import ImageError

def answer(request):
    print("a library prints this")
    os.system("echo and this")
    if request.get("fail") == "known":
        raise ImageError("the image is damaged")
    if request.get("fail") == "unknown":
        raise KeyError("surprise")
    if request.get("fail") == "crash":
        os._exit(7)
    return {"argument": sys.argv[1]}, bytes(request.get("bytes", 0))

serve(answer)
"""


@pytest.fixture
def child(tmp_path):
    (tmp_path / "child_program.py").write_text(CHILD)
    places = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    with ChildProcess("child_program", "word", quiet=True, environment={"PYTHONPATH": places}) as process:
        yield process


def test_answers_come_with_raw_bytes_and_without_what_libraries_print(child):
    assert child.exchange({"bytes": 100_000}) == ({"argument": "word", "size": 100_000}, bytes(100_000))
    assert child.exchange({}) == ({"argument": "word"}, b"")


def test_an_error_is_an_answer_and_the_process_goes_on(child):
    assert child.exchange({"fail": "known"}) == ({"error": "the image is damaged"}, b"")
    assert child.exchange({"fail": "unknown"}) == ({"error": "KeyError: 'surprise'"}, b"")
    first = child.started()
    assert child.exchange({}) is not None
    assert child.started() is first


def test_a_crash_is_no_answer_and_the_next_process_is_a_new_one(child):
    first = child.started()
    assert child.exchange({"fail": "crash"}) is None
    assert first.wait(20) == 7
    child.close()
    assert child.exchange({}) is not None
    assert child.started() is not first


def test_closing_ends_the_process(child):
    process = child.started()
    child.close()
    assert process.poll() is not None
    child.close()  # There is nothing left to close.


def test_expected_errors_are_described_by_their_message():
    assert describe_error(ImageError("damaged")) == {"error": "damaged"}
    assert describe_error(ValueError("odd")) == {"error": "ValueError: odd"}
