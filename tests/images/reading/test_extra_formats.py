"""HEIC and JPEG XL files, made here, as pages; without their libraries, errors name the extra."""

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drmamba.errors import ImageError, PixelLimitError
from drmamba.images import count_pages, open_pages, read_rgb
from drmamba.images.reading.decoder_process import DecoderProcess
from drmamba.images.reading.extra_formats import jxl_size


@pytest.fixture(scope="module")
def scan():
    page = np.full((60, 90, 3), 210, np.uint8)
    page[8:20, 10:50] = 30
    return page


def write(path: Path, page, **options):
    if path.suffix == ".jxl":
        pytest.importorskip("pillow_jxl", reason="JPEG XL needs pillow-jxl-plugin (extra formats)")
    else:
        heif = pytest.importorskip("pillow_heif", reason="HEIC needs pillow-heif (extra formats)")
        heif.register_heif_opener()
    Image.fromarray(page).save(path, **{"quality": 95} | options)
    return path


@pytest.mark.parametrize("name", ["scan.heic", "scan.HEIF", "scan.jxl", "scan.jpg"])
def test_a_page_is_read_whatever_its_name_says(tmp_path, scan, name):
    kind = "scan.heic" if name == "scan.jpg" else name.lower()  # telephones name HEIC files .jpg, too
    path = write(tmp_path / kind, scan).rename(tmp_path / name)
    assert count_pages(path) == 1
    found = read_rgb(path)
    assert found.shape == scan.shape
    assert np.abs(found.astype(int) - scan).mean() < 4


@pytest.mark.parametrize("name", ["scan.heic", "scan.jxl"])
def test_the_decoding_process_reads_them_and_their_damage_is_called_so(tmp_path, scan, name):
    noisy = np.random.default_rng(0).integers(0, 255, (200, 300, 3), np.uint8)
    good, bad = write(tmp_path / name, scan), write(tmp_path / f"bad-{name}", noisy)
    bad.write_bytes(bad.read_bytes()[: bad.stat().st_size // 2])
    with DecoderProcess(500_000_000) as reader:
        page = next(iter(reader.open(good)))
        assert (page.height, page.width) == (60, 90)
        page.decode()
        assert page.rows(10, 11)[0, 20].max() < 60
        with pytest.raises(ImageError, match=f"bad-{name}.* damaged"):
            [page.decode() for page in reader.open(bad)]


def test_a_telephone_held_sideways(tmp_path, scan):
    exif = Image.Exif()
    exif[274] = 6  # orientation: rotate by a quarter turn clockwise
    found = read_rgb(write(tmp_path / "scan.heic", scan, exif=exif.tobytes()))
    assert found.shape == (90, 60, 3)
    assert found[20, 45].max() < 60 < found[20, 10].min()


@pytest.mark.parametrize("size", [(40, 60), (8, 8), (3000, 5), (256, 256), (1024, 768), (1200, 1000)])
def test_the_size_of_jpeg_xl_is_known_before_it_is_decoded(tmp_path, size):
    page = np.zeros((size[1], size[0]), np.uint8)
    path = write(tmp_path / "a.jxl", page)
    assert jxl_size(path) == size
    boxed = write(tmp_path / "b.jxl", page, exif=Image.Exif().tobytes(), use_container=True)
    assert boxed.read_bytes().startswith(b"\0\0\0\x0cJXL ")
    assert jxl_size(boxed) == size


@pytest.mark.parametrize("name", ["large.heic", "large.jxl"])
def test_a_page_over_the_limit_is_refused_by_its_declared_size(tmp_path, scan, name):
    from drmamba.config import ReadingConfig

    with pytest.raises(PixelLimitError, match="90 x 60"):
        next(open_pages(write(tmp_path / name, scan), ReadingConfig(max_pixels=5000)))


@pytest.mark.parametrize(("name", "library"), [("a.heic", "pillow_heif"), ("a.jxl", "pillow_jxl")])
def test_a_missing_library_is_named_with_its_extra(tmp_path, scan, monkeypatch, name, library):
    path = write(tmp_path / name, scan)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImageError, match=rf"{name} is a .* picture, and pillow-.*\[formats\]"):
        read_rgb(path)
