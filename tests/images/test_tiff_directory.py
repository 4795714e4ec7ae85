"""The directory of a TIFF page, as Pillow reads it."""

import struct
from io import BytesIO

import pytest
from PIL import TiffImagePlugin

from drmamba.images.tiff_directory import ASCII, LONG, RATIONAL, SHORT, UNDEFINED, encode_directory

FIELDS = {
    256: (SHORT, [7]),
    258: (SHORT, [8, 8, 8]),
    270: (ASCII, [*b"even", 0]),
    273: (LONG, [8, 70_000]),
    282: (RATIONAL, [600, 2]),
    347: (UNDEFINED, [1, 2, 3, 255, 5]),
}


@pytest.mark.parametrize("order", ["<", ">"])
def test_pillow_reads_the_fields(order):
    block, offset = encode_directory(FIELDS, 8, order)
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", offset)
    found = TiffImagePlugin.ImageFileDirectory_v2(head)
    file = BytesIO(head + block)
    file.seek(offset)
    found.load(file)
    assert found[256] == 7
    assert found[258] == (8, 8, 8)
    assert found[270] == "even"
    assert found[273] == (8, 70_000)
    assert found[282] == 300
    assert found[347] == b"\1\2\3\xff\5"
    assert found.next == 0
