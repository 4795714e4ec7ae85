"""Written files can be read by others: 1 bit, black ink, with resolution and record."""

import numpy as np
import pytest
from PIL import Image

from drmamba.errors import ImageError
from drmamba.images import Bitmap, encode, read_record, write_ink

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


@pytest.mark.parametrize("suffix", [".png", ".tif", ".pdf"])
def test_the_same_page_gives_the_same_bytes(suffix):
    bitmaps = [Bitmap.pack(INK, 300.0)]
    assert encode(bitmaps, suffix, record="x") == encode(bitmaps, suffix, record="x")


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(ImageError, match=r"not as '\.jpg'"):
        write_ink(tmp_path / "page.jpg", INK)
