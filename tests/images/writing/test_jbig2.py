"""JBIG2 in PDF files: the plumbing with a stand-in for jbig2enc, and the real program where it is installed."""

import shutil
import stat
import sys

import numpy as np
import pikepdf
import pytest

from drmamba.errors import ImageError
from drmamba.images import Bitmap, encode_document, encode_page, read_ink
from drmamba.images.writing import G4Page, jbig2
from drmamba.images.writing.jbig2 import Jbig2Page

# A program with jbig2enc's interface. It writes a generic region that is coded as G4 is, which JBIG2 allows (MMR).
STAND_IN = """#!{python}
import struct, sys
sys.path[:0] = {path!r}
import numpy as np
from drmamba.images import Bitmap
from drmamba.images.writing.g4 import encode_g4
assert sys.argv[1] == "-p" and len(sys.argv) == 3, sys.argv
data = open(sys.argv[2], "rb").read()
magic, size, bits = data.split(b"\\n", 2)
width, height = map(int, size.split())
assert magic == b"P4"
bitmap = Bitmap(height, width)
bitmap.bits = np.frombuffer(bits, np.uint8).reshape(height, -1)
((_, coded),) = encode_g4(bitmap).strips
segment = lambda number, kind, body: struct.pack(">IBBBI", number, kind, 0, 1, len(body)) + body
page = struct.pack(">IIIIBH", width, height, 0, 0, 0, 0)
region = struct.pack(">IIIIB", width, height, 0, 0, 0) + b"\\1" + coded
sys.stdout.buffer.write(segment(0, 48, page) + segment(1, 38, region))
"""


@pytest.fixture
def ink():
    page = np.zeros((50, 77), np.bool_)
    page[10:14, 5:60], page[20:40, 30:33] = True, True
    return page


@pytest.fixture
def program(tmp_path, monkeypatch):
    path = tmp_path / "bin" / "jbig2"
    path.parent.mkdir()
    path.write_text(STAND_IN.format(python=sys.executable, path=sys.path))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(jbig2, "find_jbig2", lambda: str(path))
    monkeypatch.setattr("drmamba.images.writing.encoding.find_jbig2", lambda: str(path))
    return path


def check_document(tmp_path, ink, page):
    assert isinstance(page, Jbig2Page)
    (tmp_path / "a.pdf").write_bytes(encode_document([page], ".pdf", "a record"))
    assert (read_ink(tmp_path / "a.pdf") == ink).all()
    with pikepdf.open(tmp_path / "a.pdf") as pdf:
        (picture,) = pdf.pages[0].Resources.XObject.values()
        assert picture.Filter == "/JBIG2Decode"


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with an interpreter line")
def test_a_page_comes_back_as_it_was(tmp_path, ink, program):  # noqa: ARG001
    check_document(tmp_path, ink, encode_page(Bitmap.pack(ink, 300), ".pdf", "auto"))


def test_the_real_program(tmp_path, ink):
    if shutil.which("jbig2") is None:
        pytest.skip("jbig2enc is not installed here")
    check_document(tmp_path, ink, encode_page(Bitmap.pack(ink, 300), ".pdf", "jbig2"))


def test_g4_is_used_for_tiff_on_request_and_without_the_program(ink, program, monkeypatch):  # noqa: ARG001
    bitmap = Bitmap.pack(ink, 300)
    assert isinstance(encode_page(bitmap, ".tif", "jbig2"), G4Page)
    assert isinstance(encode_page(bitmap, ".pdf", "g4"), G4Page)
    monkeypatch.setattr("drmamba.images.writing.encoding.find_jbig2", lambda: None)
    assert isinstance(encode_page(bitmap, ".pdf", "auto"), G4Page)
    with pytest.raises(ImageError, match="install jbig2enc, or use --pdf-coding g4"):
        encode_page(bitmap, ".pdf", "jbig2")


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with an interpreter line")
def test_a_program_that_fails_is_quoted(ink, program):
    program.write_text("#!/bin/sh\necho no such mode >&2\nexit 3\n")
    with pytest.raises(ImageError, match="no such mode; use --pdf-coding g4"):
        encode_page(Bitmap.pack(ink, 300), ".pdf", "auto")
