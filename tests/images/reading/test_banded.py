"""Bands decoded one by one are the same pixels as the page decoded at once."""

import numpy as np
import pytest
from made_pictures import page, tiff
from PIL import Image

from drmamba.errors import ImageError
from drmamba.images import open_pages
from drmamba.images.reading.banded import BandedPngPage, BandedTiffPage


@pytest.fixture(autouse=True)
def small_bands(monkeypatch):
    monkeypatch.setattr("drmamba.images.reading.banded.BAND_PIXELS", 5 * 83)


def noise(mode):
    rng = np.random.default_rng(5)
    picture = Image.fromarray(rng.integers(0, 256, (61, 83, 4), np.uint8), "RGBA")
    smooth = picture.resize((20, 15)).resize((83, 61))  # gives PNG's filters something to do
    if mode == "I;16":
        return Image.fromarray(rng.integers(0, 65536, (61, 83), np.uint16))
    if mode == "P":
        return smooth.convert("RGB").quantize(200)
    return smooth.convert(mode)


def both(path):
    (whole,) = [p.read() for p in open_pages(path)]
    for p in open_pages(path, memory=0):
        assert isinstance(p, BandedPngPage | BandedTiffPage)
        yield whole, p


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_png(tmp_path, mode):
    noise(mode).save(tmp_path / "page.png")
    assert [p.band_rows for _, p in both(tmp_path / "page.png")] == [5]
    for whole, p in both(tmp_path / "page.png"):
        np.testing.assert_array_equal(p.read(7), whole)
        np.testing.assert_array_equal(p.rows(3, 40), whole[3:40])  # back again
        np.testing.assert_array_equal(p.rows(20, 22), whole[20:22])


COMPRESSIONS = [None, "tiff_lzw", "tiff_adobe_deflate", "packbits", "zstd"]


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("mode", ["L", "P", "RGB", "RGBA", "CMYK", "I;16"])
def test_tiff(tmp_path, mode, compression):
    noise(mode).save(tmp_path / "page.tif", compression=compression, strip_size=83 * 3 * 2)
    for whole, p in both(tmp_path / "page.tif"):
        np.testing.assert_array_equal(p.read(7), whole)
        np.testing.assert_array_equal(p.rows(3, 40), whole[3:40])


@pytest.mark.parametrize("compression", ["group3", "group4", "tiff_lzw"])
def test_tiff_of_one_bit(tmp_path, compression):
    noise("1").save(tmp_path / "page.tif", compression=compression, strip_size=33)
    for whole, p in both(tmp_path / "page.tif"):
        np.testing.assert_array_equal(p.read(7), whole)


def test_jpeg_in_tiff(tmp_path):
    noise("RGB").save(tmp_path / "page.tif", compression="jpeg", quality=95, strip_size=83 * 3 * 16)
    for whole, p in both(tmp_path / "page.tif"):
        np.testing.assert_array_equal(p.read(7), whole)


@pytest.mark.parametrize("photometric", [0, 1])
@pytest.mark.parametrize("bits", [8, 16])
def test_tiles_and_white_is_zero(tmp_path, photometric, bits):
    values = np.asarray(page()).astype(np.uint8 if bits == 8 else np.uint16)
    (tmp_path / "page.tif").write_bytes(tiff(values, photometric, bits, tiled=bits == 8))
    for whole, p in both(tmp_path / "page.tif"):
        np.testing.assert_array_equal(p.read(7), whole)


@pytest.mark.parametrize("name", ["page.png", "page.tif"])
def test_half_a_file_is_an_error(tmp_path, name):
    noise("RGB").save(
        tmp_path / name, **({"compression": "tiff_lzw", "strip_size": 500} if "tif" in name else {})
    )
    data = (tmp_path / name).read_bytes()
    cut = data[:8] + data[9 : len(data) // 2] if name.endswith("tif") else data[: len(data) // 2]
    (tmp_path / name).write_bytes(cut)
    with pytest.raises(ImageError, match=r"damaged|cannot be read|not a picture"):
        [p.read() for p in open_pages(tmp_path / name, memory=0)]


def test_what_cannot_be_decoded_in_bands_is_decoded_whole(tmp_path):
    noise("RGB").save(tmp_path / "page.jpg")
    for p in open_pages(tmp_path / "page.jpg", memory=0):
        assert not isinstance(p, BandedPngPage | BandedTiffPage)
        assert p.decode_bytes() >= 61 * 83 * 4
