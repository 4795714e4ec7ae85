"""Every kind of picture: right polarity, depth, colour, orientation and resolution."""

import io
import struct

import numpy as np
import pytest
from made_pictures import SIZE, page, tiff
from PIL import Image, TiffImagePlugin

from drmamba.config import ReadingConfig
from drmamba.errors import ImageError, InputError, PixelLimitError
from drmamba.images import count_pages, open_pages, read_rgb
from drmamba.images.reading.raster import as_page_source


def assert_is_the_page(rgb):
    assert rgb.shape == (24, 40, 3)
    assert rgb.dtype == np.uint8
    assert rgb[2:10, 2:8].max() < 40
    assert rgb[14:].min() > 215
    assert rgb[:, 12:].min() > 215


WRITTEN = [
    *[("png", mode, {}) for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")],
    *[("tif", mode, {}) for mode in ("1", "L", "P", "RGB", "RGBA", "CMYK", "LAB", "I;16", "I", "F")],
    *[("tif", "1", {"compression": c}) for c in ("group3", "group4", "tiff_lzw", "packbits")],
    *[("tif", "RGB", {"compression": c}) for c in ("tiff_lzw", "tiff_adobe_deflate", "jpeg")],
    ("tif", "YCbCr", {"compression": "jpeg"}),  # raw YCbCr is written wrongly by some versions of Pillow
    *[("jp2", mode, {}) for mode in ("L", "LA", "RGB", "RGBA", "I;16")],
    *[("jpg", mode, {"quality": 95}) for mode in ("L", "RGB", "CMYK")],
    ("jpg", "RGB", {"quality": 95, "progressive": True}),
    *[("webp", mode, {"lossless": True}) for mode in ("RGB", "RGBA")],
    *[("bmp", mode, {}) for mode in ("1", "L", "P", "RGB")],
]


@pytest.mark.parametrize(("suffix", "mode", "options"), WRITTEN, ids=lambda value: str(value))
def test_ink_is_dark_in_every_format(tmp_path, suffix, mode, options):
    picture = page("RGB").convert("YCbCr") if mode == "YCbCr" else None
    if mode == "LAB":
        picture = Image.merge("LAB", [page(), *[Image.new("L", SIZE, 128)] * 2])
    (picture or page(mode)).save(tmp_path / f"page.{suffix}", **options)
    assert_is_the_page(read_rgb(tmp_path / f"page.{suffix}"))


@pytest.mark.parametrize("photometric", [0, 1])
@pytest.mark.parametrize(("kind", "bits"), [(np.uint8, 8), (np.uint16, 16)])
def test_tiff_says_whether_white_is_zero(tmp_path, photometric, kind, bits):
    values = np.asarray(page()).astype(kind) * (1 if bits == 8 else 257)
    if photometric == 0:
        values = np.iinfo(kind).max - values
    (tmp_path / "page.tif").write_bytes(tiff(values, photometric, bits))
    assert_is_the_page(read_rgb(tmp_path / "page.tif"))


def test_a_big_endian_tiff_of_16_bits_whose_white_is_zero(tmp_path):
    values = 65535 - np.asarray(page()).astype(np.uint16) * 257
    picture = Image.frombytes("I;16B", SIZE, values.astype(">u2").tobytes())
    picture.save(tmp_path / "page.tif")
    data = bytearray((tmp_path / "page.tif").read_bytes())
    at = data.index(struct.pack(">HHIH", 262, 3, 1, 1))
    data[at + 8 : at + 10] = b"\0\0"
    (tmp_path / "page.tif").write_bytes(data)
    assert_is_the_page(read_rgb(tmp_path / "page.tif"))


def test_a_picture_without_pixels_is_an_error_of_this_package():
    for size in ((0, 5), (5, 0), (0, 0)):
        with pytest.raises(InputError, match=r"1 pixel or more"):
            as_page_source(Image.new("RGB", size))


def test_tiles(tmp_path):
    (tmp_path / "page.tif").write_bytes(tiff(np.asarray(page()), 1, 8, tiled=True))
    assert_is_the_page(read_rgb(tmp_path / "page.tif"))


def test_transparent_pixels_are_paper(tmp_path):
    image = page("RGBA")
    image.putalpha(Image.fromarray(np.where(np.arange(40) < 5, 0, 255).astype(np.uint8)[None].repeat(24, 0)))
    image.save(tmp_path / "page.png")
    rgb = read_rgb(tmp_path / "page.png")
    assert (rgb[:, :5] == 255).all()
    assert (rgb[2:10, 6:8] == 0).all()


def test_a_colour_profile_is_applied(tmp_path):
    """A grey profile with a linear curve: half the light is level 188 of sRGB."""
    image = Image.new("L", (3, 3), 128)
    image.save(tmp_path / "page.png", icc_profile=linear_grey_profile())
    assert abs(int(read_rgb(tmp_path / "page.png")[1, 1, 0]) - 188) <= 2
    image.save(tmp_path / "page.png", icc_profile=b"no profile at all")
    assert read_rgb(tmp_path / "page.png")[1, 1, 0] == 128


def linear_grey_profile():
    """The least an ICC reader accepts."""
    curve = b"curv" + bytes(4) + struct.pack(">I", 0) + bytes(4)  # no entries: linear
    white = b"XYZ " + bytes(4) + struct.pack(">iii", 63190, 65536, 54061)
    text = b"text" + bytes(4) + b"none\0\0\0\0"
    tags, body = b"", b""
    for name, data in ((b"wtpt", white), (b"kTRC", curve), (b"cprt", text), (b"desc", text)):
        tags += name + struct.pack(">II", 128 + 4 + 4 * 12 + len(body), len(data))
        body += data
    head = struct.pack(">I4sI4s4s4s", 0, b"lcms", 0x02100000, b"mntr", b"GRAY", b"XYZ ")
    head += struct.pack(">6H4s", 2024, 1, 1, 0, 0, 0, b"acsp") + bytes(28)
    head += struct.pack(">iii", 63190, 65536, 54061)
    profile = head.ljust(128, b"\0") + struct.pack(">I", 4) + tags + body
    return struct.pack(">I", len(profile)) + profile[4:]


@pytest.mark.parametrize("suffix", ["jpg", "png", "webp", "tif"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_undone_and_resolution_turns_with_it(tmp_path, suffix, orientation):
    turned = {
        1: None, 2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM, 5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE, 8: Image.Transpose.ROTATE_270,
    }[orientation]  # fmt: skip
    image = page("RGB") if turned is None else page("RGB").transpose(turned)
    exif = Image.Exif()
    exif[274] = orientation
    options = {"quality": 95} if suffix == "jpg" else {"lossless": True} if suffix == "webp" else {}
    if suffix == "tif":
        tags = TiffImagePlugin.ImageFileDirectory_v2()
        tags[274] = orientation
        options = {"tiffinfo": tags}
    else:
        options["exif"] = exif.tobytes()
    image.save(tmp_path / f"page.{suffix}", dpi=(300, 150), **options)
    assert_is_the_page(read_rgb(tmp_path / f"page.{suffix}"))
    (seen,) = [p.dpi for p in open_pages(tmp_path / f"page.{suffix}")]
    if suffix != "webp":  # it has no place for a resolution
        assert seen == pytest.approx((150, 300) if orientation > 4 else (300, 150), rel=1e-3)


def test_rows_come_in_any_order_from_a_turned_page(tmp_path):
    rng = np.random.default_rng(0)
    picture = Image.fromarray(rng.integers(0, 256, (30, 50, 3), np.uint8))
    exif = Image.Exif()
    for exif[274] in range(1, 9):
        picture.save(tmp_path / "page.png", exif=exif.tobytes())
        (whole,) = [p.read() for p in open_pages(tmp_path / "page.png")]
        for p in open_pages(tmp_path / "page.png"):
            bands = [p.rows(top, min(top + 7, p.height)) for top in range(0, p.height, 7)]
            np.testing.assert_array_equal(np.concatenate(bands), whole)
            np.testing.assert_array_equal(p.rows(3, 5), whole[3:5])


@pytest.mark.parametrize("wrong", [(0, 0), (1, 1), (1e9, 300)])
def test_a_resolution_nobody_believes_is_none(tmp_path, wrong):
    page().save(tmp_path / "page.tif", dpi=wrong)
    assert [p.dpi for p in open_pages(tmp_path / "page.tif")] == [None]


def test_pages_of_a_tiff_without_its_thumbnails(tmp_path):
    plain, small = (TiffImagePlugin.ImageFileDirectory_v2() for _ in range(2))
    small[254] = 1
    buffer = io.BytesIO()
    with TiffImagePlugin.AppendingTiffWriter(buffer, new=True) as writer:
        for number, tags in enumerate([plain, small, plain]):
            Image.new("L", (10 + number, 5), 200).save(writer, "TIFF", tiffinfo=tags)
            writer.newFrame()
    (tmp_path / "book.tif").write_bytes(buffer.getvalue())
    assert [p.width for p in open_pages(tmp_path / "book.tif")] == [10, 12]
    assert count_pages(tmp_path / "book.tif") == 2


def test_the_content_counts_not_the_ending(tmp_path):
    page("RGB").save(tmp_path / "page.png")
    (tmp_path / "page.png").rename(tmp_path / "page.tif")
    assert_is_the_page(read_rgb(tmp_path / "page.tif"))


@pytest.mark.parametrize("name", ["page.png", "page.tif", "page.jpg", "page.jp2", "page.webp", "page.bmp"])
def test_half_a_file_is_an_error_of_one_line(tmp_path, name):
    noise = np.random.default_rng(0).integers(0, 256, (200, 200, 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    for share in (0.0, 0.01, 0.5, 0.9):
        (tmp_path / name).write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(ImageError) as caught:
            read_rgb(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_declared_size_is_checked_before_decoding(tmp_path):
    Image.new("1", (20_000, 20_000)).save(tmp_path / "page.png")  # 50 kB, 400 megapixels
    with pytest.raises(PixelLimitError, match="400 megapixels, over the limit of 100") as caught:
        next(iter(open_pages(tmp_path / "page.png", ReadingConfig(max_pixels=100_000_000))))
    assert (caught.value.value, caught.value.limit) == (400_000_000, 100_000_000)
    before = Image.MAX_IMAGE_PIXELS
    next(iter(open_pages(tmp_path / "page.png")))
    assert before == Image.MAX_IMAGE_PIXELS  # Pillow's own setting is left as the program has it


@pytest.mark.parametrize("missing", ["nothing.png", "."])
def test_what_is_no_file_is_an_error(tmp_path, missing):
    with pytest.raises(ImageError, match="cannot read"):
        read_rgb(tmp_path / missing)


ARRAYS = [
    np.asarray(page()),
    np.asarray(page("RGB")),
    np.asarray(page("RGBA")),
    np.asarray(page("I;16")),
    np.asarray(page("F")),
    np.asarray(page("F")).astype(np.float64),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
def test_arrays_of_every_kind(array):
    assert_is_the_page(as_page_source(array).read())


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
def test_pil_images_of_every_mode(mode):
    assert_is_the_page(as_page_source(page(mode)).read())


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((4, 4), bool),
        np.zeros((4, 4), int),
        np.full((4, 4), 2.0),
        np.zeros(4, np.uint8),
        np.zeros((0, 4), np.uint8),
        np.full((2, 2), np.nan),
    ],
)
def test_arrays_that_are_no_pages(array):
    with pytest.raises(ValueError, match="a page"):
        as_page_source(array)
