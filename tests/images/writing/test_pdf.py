"""PDF files of black-and-white pages."""

import io

import numpy as np
import pikepdf
import pytest
from PIL import Image

from drmamba.config import ReadingConfig
from drmamba.errors import ImageError
from drmamba.images import Bitmap, GreyLayer, count_pages, encode, open_pages, read_record


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


def test_a_picture_shows_below_the_ink(tmp_path):
    grey = np.tile(np.linspace(60, 200, 80).astype(np.uint8), (40, 1))
    buffer = io.BytesIO()
    Image.fromarray(grey).save(buffer, "JPEG", quality=95)
    ink = np.zeros((120, 160), np.bool_)
    ink[10:20, 20:140] = ink[60:64, 50:110] = True  # a line of text, and one across the picture
    layer = GreyLayer((40, 50, 120, 90), 80, 40, buffer.getvalue())
    (tmp_path / "page.pdf").write_bytes(encode([Bitmap.pack(ink, (72, 72))], ".pdf", layers=(layer,)))
    for page in open_pages(tmp_path / "page.pdf", ReadingConfig(dpi=72)):
        shown = page.read()[:, :, 0].astype(int)
    assert shown.shape == ink.shape
    assert (shown[ink] < 30).all()
    inside = np.s_[70:88, 45:115]
    assert np.abs(shown[inside] - grey[20:38, 5:75]).max() < 12
    outside = ~ink
    outside[48:92, 38:122] = False
    assert (shown[outside] > 250).all()
    with pikepdf.open(tmp_path / "page.pdf") as pdf:
        filters = {str(image.Filter) for image in pdf.pages[0].Resources.XObject.values()}
    assert filters == {"/CCITTFaxDecode", "/DCTDecode"}


@pytest.mark.parametrize("ending", [".png", ".tif"])
def test_only_a_pdf_holds_a_picture(ending):
    layer = GreyLayer((0, 0, 8, 8), 8, 8, b"")
    with pytest.raises(ImageError, match="cannot hold pictures in grey"):
        encode([Bitmap(20, 20)], ending, layers=(layer,))
