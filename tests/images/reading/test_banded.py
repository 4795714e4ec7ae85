"""Bands decoded one by one are the same pixels as the page decoded at once."""

import numpy as np
import pytest
from made_pictures import page, tiff, tiled_tiff
from PIL import Image

from drmamba.errors import ImageError
from drmamba.images import open_pages
from drmamba.images.reading.banded_jpeg import BandedJpegPage
from drmamba.images.reading.banded_tiff import StreamedTiffPage
from drmamba.images.reading.bands import BandedPage


@pytest.fixture(autouse=True)
def small_bands(monkeypatch):
    monkeypatch.setattr("drmamba.images.reading.bands.BAND_PIXELS", 5 * 83)


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
        assert isinstance(p, BandedPage)
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


@pytest.mark.parametrize("predictor", [1, 2])
@pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_adobe_deflate", "packbits"])
@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "CMYK", "I;16", "I;16B", "F"])
def test_one_strip_of_the_whole_page(tmp_path, mode, compression, predictor):
    """What Pillow writes by default without compression: 10,000 x 10,000 pixels are 300 MB in one piece."""
    if mode == "F":
        picture = Image.fromarray(np.random.default_rng(1).random((61, 83), np.float32))
    elif mode == "I;16B":
        picture = Image.frombytes("I;16B", (83, 61), np.asarray(noise("I;16")).astype(">u2").tobytes())
    else:
        picture = noise(mode)
    differences = (
        predictor == 2 and compression in ("tiff_lzw", "tiff_adobe_deflate") and mode not in ("1", "F")
    )
    picture.save(
        tmp_path / "page.tif",
        compression=compression,
        strip_size=10**6,
        **({"tiffinfo": {317: predictor}} if differences else {}),
    )
    for whole, p in both(tmp_path / "page.tif"):
        assert isinstance(p, StreamedTiffPage)
        assert p.band_rows == 5
        np.testing.assert_array_equal(p.read(7), whole)
        np.testing.assert_array_equal(p.rows(3, 40), whole[3:40])


@pytest.mark.parametrize("tile", [16, 96])
@pytest.mark.parametrize("compression", [1, 8])
@pytest.mark.parametrize("planar", [1, 2])
def test_planes_and_large_tiles(tmp_path, planar, compression, tile):
    colours = np.asarray(noise("RGB"))
    (tmp_path / "page.tif").write_bytes(tiled_tiff(colours, tile, planar, compression))
    with Image.open(tmp_path / "page.tif") as image:
        np.testing.assert_array_equal(np.asarray(image), colours)  # The file itself is right.
    for whole, p in both(tmp_path / "page.tif"):
        assert isinstance(p, StreamedTiffPage) == (tile == 96)
        np.testing.assert_array_equal(whole, colours)
        np.testing.assert_array_equal(p.read(7), colours)
        np.testing.assert_array_equal(p.rows(3, 40), colours[3:40])


@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("subsampling", [0, 2])
def test_jpeg(tmp_path, monkeypatch, mode, subsampling):
    monkeypatch.setattr("drmamba.images.reading.banded_jpeg.BAND_PIXELS", 5 * 83)
    noise(mode).save(tmp_path / "page.jpg", subsampling=subsampling, quality=90)
    for whole, p in both(tmp_path / "page.jpg"):
        assert isinstance(p, BandedJpegPage)
        assert p.band_rows == 5
        np.testing.assert_array_equal(p.read(7), whole)
        np.testing.assert_array_equal(p.rows(3, 40), whole[3:40])


def test_half_a_jpeg_is_an_error(tmp_path):
    noise("RGB").save(tmp_path / "page.jpg")
    data = (tmp_path / "page.jpg").read_bytes()
    (tmp_path / "page.jpg").write_bytes(data[: len(data) // 2])
    with pytest.raises(ImageError, match="ends too early"):
        [p.read() for p in open_pages(tmp_path / "page.jpg", memory=0)]


@pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_adobe_deflate", "packbits"])
def test_half_a_strip_is_an_error(tmp_path, compression):
    noise("RGB").save(tmp_path / "page.tif", compression=compression, strip_size=10**6)
    data = bytearray((tmp_path / "page.tif").read_bytes())
    with Image.open(tmp_path / "page.tif") as image:
        offset, count = image.tag_v2[273][0], image.tag_v2[279][0]
    data[offset + count // 2 : offset + count] = (b"\xff" if "deflate" in str(compression) else b"\x80") * (
        count - count // 2
    )
    (tmp_path / "page.tif").write_bytes(data if compression else data[: offset + count // 2])
    with pytest.raises(ImageError, match=r"damaged|cannot be read|not a picture"):
        [p.read() for p in open_pages(tmp_path / "page.tif", memory=0)]


def test_floats_that_are_not_numbers_are_an_error(tmp_path):
    values = np.random.default_rng(1).random((61, 83)).astype(np.float32)
    values[40:45, 10:20] = np.nan
    Image.fromarray(values).save(tmp_path / "page.tif")
    for memory in (None, 0):
        with pytest.raises(ImageError, match=r"page\.tif holds values that are not numbers"):
            [p.read() for p in open_pages(tmp_path / "page.tif", memory=memory)]


@pytest.mark.parametrize(
    ("name", "options"), [("page.jpg", {"progressive": True}), ("page.webp", {}), ("page.jp2", {})]
)
def test_what_cannot_be_decoded_in_bands_is_decoded_whole(tmp_path, name, options):
    noise("RGB").save(tmp_path / name, **options)
    for p in open_pages(tmp_path / name, memory=0):
        assert not isinstance(p, BandedPage)
        assert p.decode_bytes() >= 61 * 83 * 4
