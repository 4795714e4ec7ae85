"""CCITT G4 coding of pages."""

import numpy as np
import pikepdf

from drmamba.images import Bitmap, encode, read_ink, write_ink

INK = np.random.default_rng(0).random((37, 51)) < 0.3


def test_a_huge_page_is_coded_in_strips_and_is_the_same_page(tmp_path, monkeypatch):
    monkeypatch.setattr("drmamba.images.writing.g4.STRIP_PIXELS", 51 * 10)
    write_ink(tmp_path / "page.tif", INK, dpi=300)
    np.testing.assert_array_equal(read_ink(tmp_path / "page.tif"), INK)
    write_ink(tmp_path / "page.pdf", INK, dpi=72)
    with pikepdf.open(tmp_path / "page.pdf") as pdf:
        pictures = [
            pikepdf.PdfImage(picture).as_pil_image() for picture in pdf.pages[0].Resources.XObject.values()
        ]
    strips = [np.asarray(picture.convert("L")) == 0 for picture in pictures]
    assert [len(strip) for strip in strips] == [10, 10, 10, 7]
    np.testing.assert_array_equal(np.concatenate(strips), INK)


def test_a_page_of_text_is_small():
    page = np.zeros((3508, 2480), bool)
    for top in range(200, 3300, 60):
        for left in range(200, 2280, 30):
            page[top : top + 30, left : left + 4] = True
    assert len(encode([Bitmap.pack(page)], ".tif")) < 60_000  # a megabyte at one bit a pixel
