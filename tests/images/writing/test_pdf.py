"""PDF files of black-and-white pages."""

import io

import numpy as np
import pikepdf
import pytest

from drmamba.images import Bitmap, count_pages, encode, open_pages, read_record


def test_pages_of_many_sizes_survive_a_round_trip(tmp_path):
    rng = np.random.default_rng(0)
    pages = [rng.random((40 + 7 * i, 30 + 11 * i)) < 0.3 for i in range(4)]
    (tmp_path / "book.pdf").write_bytes(
        encode([Bitmap.pack(p, (300, 300)) for p in pages], ".pdf", record="why")
    )
    assert count_pages(tmp_path / "book.pdf") == 4
    for read, wrote in zip(open_pages(tmp_path / "book.pdf"), pages, strict=True):
        np.testing.assert_array_equal(read.read()[:, :, 0] < 128, wrote)
        assert read.dpi == pytest.approx((300, 300), rel=1e-3)
    assert read_record(tmp_path / "book.pdf") == "why"


def test_the_page_size_follows_from_the_resolution():
    with pikepdf.open(io.BytesIO(encode([Bitmap(600, 300, (300.0, 150.0))], ".pdf"))) as pdf:
        assert [float(side) for side in pdf.pages[0].MediaBox] == pytest.approx([0, 0, 72, 288])
    with pikepdf.open(io.BytesIO(encode([Bitmap(300, 30_000, 72.0)], ".pdf"))) as pdf:
        page = pdf.pages[0]  # larger than PDF allows in points: it counts in larger units
        assert float(page.MediaBox[2]) <= 14_400
        assert float(page.MediaBox[2]) * float(page.UserUnit) == pytest.approx(30_000, rel=1e-3)
