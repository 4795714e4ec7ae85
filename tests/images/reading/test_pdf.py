"""Pages of PDF files."""

import io

import numpy as np
import pikepdf
import pytest
from PIL import Image

from drmamba.config import ReadingConfig
from drmamba.errors import ImageError
from drmamba.images import open_pages, read_rgb


def scan_pdf(path, picture, dpi, pages=1, rotate=0):
    """A PDF whose pages are one picture each, as scanners write them."""
    buffer = io.BytesIO()
    picture.convert("RGB").save(buffer, "JPEG", quality=95)
    wide, high = picture.width / dpi * 72, picture.height / dpi * 72
    with pikepdf.new() as pdf:
        for _ in range(pages):
            image = pikepdf.Stream(
                pdf, buffer.getvalue(), Type=pikepdf.Name.XObject, Subtype=pikepdf.Name.Image,
                Width=picture.width, Height=picture.height, ColorSpace=pikepdf.Name.DeviceRGB,
                BitsPerComponent=8, Filter=pikepdf.Name.DCTDecode,
            )  # fmt: skip
            page = pdf.add_blank_page(page_size=(wide, high))
            page.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(I=image))
            page.Contents = pdf.make_stream(f"q {wide} 0 0 {high} 0 0 cm /I Do Q".encode())
            page.Rotate = rotate
        pdf.save(path)


def gradient(width, height):
    ramp = np.linspace(0, 255, width).astype(np.uint8)
    return Image.fromarray(np.tile(ramp, (height, 1)))


@pytest.mark.parametrize("dpi", [150, 200, 300, 400])
def test_a_scan_comes_back_at_its_own_resolution(tmp_path, dpi):
    picture = gradient(417, 261)
    scan_pdf(tmp_path / "scan.pdf", picture, dpi)
    (page,) = [(p.width, p.height, p.dpi, p.read()) for p in open_pages(tmp_path / "scan.pdf")]
    assert page[:2] == (417, 261)
    assert page[2] == pytest.approx((dpi, dpi), rel=1e-3)
    difference = page[3][:, :, 0].astype(int) - np.asarray(picture)
    assert np.abs(difference).max() <= 6


def test_a_turned_page_is_upright(tmp_path):
    scan_pdf(tmp_path / "scan.pdf", gradient(417, 261), 200, rotate=90)
    (page,) = [p.read() for p in open_pages(tmp_path / "scan.pdf")]
    assert page.shape == (417, 261, 3)
    assert page[5].max() < 20  # the dark end is on top now
    assert page[-5].min() > 235


@pytest.mark.parametrize("dpi", [100, 300])
def test_a_page_that_is_no_scan_is_rendered_at_the_given_resolution(tmp_path, dpi):
    with pikepdf.new() as pdf:
        page = pdf.add_blank_page(page_size=(144, 72))
        page.Contents = pdf.make_stream(b"0 g 0 36 72 36 re f")  # black: the upper left quarter
        pdf.save(tmp_path / "drawn.pdf")
    for page in open_pages(tmp_path / "drawn.pdf", ReadingConfig(dpi=dpi)):
        rgb = page.read()
        assert rgb.shape == (dpi, 2 * dpi, 3)
        assert rgb[: dpi // 2 - 2, : dpi - 2].max() == 0
        assert rgb[dpi // 2 + 2 :].min() == 255
        assert page.dpi == (dpi, dpi)


def test_bands_are_the_page(tmp_path, monkeypatch):
    scan_pdf(tmp_path / "scan.pdf", gradient(300, 200), 200)
    whole = read_rgb(tmp_path / "scan.pdf")
    monkeypatch.setattr("drmamba.images.reading.pdf.BAND_PIXELS", 300 * 30)
    for page in open_pages(tmp_path / "scan.pdf"):
        np.testing.assert_array_equal(page.read(7), whole)
        np.testing.assert_array_equal(page.rows(50, 120), whole[50:120])


def test_a_locked_file_is_named(tmp_path):
    with pikepdf.new() as pdf:
        pdf.add_blank_page()
        pdf.save(tmp_path / "locked.pdf", encryption=pikepdf.Encryption(user="secret", owner="secret"))
    with pytest.raises(ImageError, match=r"locked\.pdf is locked with a password"):
        read_rgb(tmp_path / "locked.pdf")


def test_damage_is_an_error(tmp_path):
    scan_pdf(tmp_path / "scan.pdf", gradient(50, 50), 300)
    data = (tmp_path / "scan.pdf").read_bytes()
    (tmp_path / "scan.pdf").write_bytes(data[:200])
    with pytest.raises(ImageError, match=r"scan\.pdf"):
        read_rgb(tmp_path / "scan.pdf")


def test_a_page_beyond_the_limit_is_refused_before_it_is_rendered(tmp_path):
    with pikepdf.new() as pdf:
        pdf.add_blank_page(page_size=(14_000, 14_000))
        pdf.save(tmp_path / "huge.pdf")
    with pytest.raises(ImageError, match="megapixels"):
        read_rgb(tmp_path / "huge.pdf")
