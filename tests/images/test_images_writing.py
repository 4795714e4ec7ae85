"""Files that others can read: 1 bit, black ink, resolution and record kept, never half-written."""

import numpy as np
import pikepdf
import pytest
from PIL import Image

from drmamba.errors import ImageError
from drmamba.images import Bitmap, encode, read_ink, read_record, write_ink

INK = np.random.default_rng(0).random((37, 51)) < 0.3


@pytest.mark.parametrize("suffix", [".png", ".tif", ".tiff"])
def test_what_pillow_sees(tmp_path, suffix):
    write_ink(tmp_path / f"page{suffix}", INK, dpi=(300, 200), record='{"a": "b"}')
    with Image.open(tmp_path / f"page{suffix}") as image:
        assert image.mode == "1"
        assert image.size == (51, 37)
        assert image.info["dpi"] == pytest.approx((300, 200), rel=1e-3)
        np.testing.assert_array_equal(np.asarray(image.convert("L")) == 0, INK)
        if suffix != ".png":
            assert image.info["compression"] == "group4"
    assert read_record(tmp_path / f"page{suffix}") == '{"a": "b"}'


def test_no_resolution_is_made_up(tmp_path):
    for suffix in (".png", ".tif"):
        write_ink(tmp_path / f"page{suffix}", INK)
        with Image.open(tmp_path / f"page{suffix}") as image:
            assert image.info.get("dpi") in (None, (1, 1))


def test_a_tiff_of_several_pages(tmp_path):
    pages = [INK, ~INK, INK[:10, :9]]
    (tmp_path / "book.tif").write_bytes(encode([Bitmap.pack(p, 300.0) for p in pages], ".tif", record="r"))
    with Image.open(tmp_path / "book.tif") as image:
        assert image.n_frames == 3
        for number, page in enumerate(pages):
            image.seek(number)
            np.testing.assert_array_equal(np.asarray(image.convert("L")) == 0, page)
    assert read_record(tmp_path / "book.tif") == "r"


def test_a_huge_page_is_coded_in_strips_and_is_the_same_page(tmp_path, monkeypatch):
    monkeypatch.setattr("drmamba.images.writing.STRIP_PIXELS", 51 * 10)
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


def test_bitmap_as_a_picture():
    np.testing.assert_array_equal(np.asarray(Bitmap.pack(INK).image().convert("L")) == 0, INK)


@pytest.mark.parametrize("suffix", [".png", ".tif", ".pdf"])
def test_the_same_page_gives_the_same_bytes(suffix):
    bitmaps = [Bitmap.pack(INK, 300.0)]
    assert encode(bitmaps, suffix, record="x") == encode(bitmaps, suffix, record="x")


def test_a_page_of_text_is_small():
    page = np.zeros((3508, 2480), bool)
    for top in range(200, 3300, 60):
        for left in range(200, 2280, 30):
            page[top : top + 30, left : left + 4] = True
    assert len(encode([Bitmap.pack(page)], ".tif")) < 60_000  # a megabyte at one bit a pixel


def test_a_stranger_has_no_record(tmp_path):
    Image.new("L", (3, 3)).save(tmp_path / "page.png")
    (tmp_path / "page.tif").write_bytes(b"nonsense")
    assert read_record(tmp_path / "page.png") == ""
    assert read_record(tmp_path / "page.tif") == ""
    assert read_record(tmp_path / "missing.pdf") == ""


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(ImageError, match=r"not as '\.jpg'"):
        write_ink(tmp_path / "page.jpg", INK)
