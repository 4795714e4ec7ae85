"""The pictures of pages: scans of any size, small results, maps in colour."""

import io

import numpy as np
from PIL import Image

from drmamba.images import ArraySource, Bitmap, write_bitmap
from drmamba.service.pictures import colour_range, overlay, scan_picture, thumbnail


def test_overlays_colour_by_value():
    page = np.full((100, 120, 3), 255, np.uint8)
    values = np.linspace(0, 1, 120, dtype=np.float32)[None].repeat(100, 0)
    low, high = colour_range(values)
    assert 0 < low < high < 1  # the border does not count
    seen = overlay(page, values, low, high)
    assert seen[50, 5].tolist() == [68, 1, 84]
    assert seen[50, 115].tolist() == [253, 231, 37]


def test_a_scan_keeps_its_size_if_its_memory_allows():
    page = np.random.default_rng(0).integers(0, 255, (700, 50, 3), np.uint8)
    for most, size in ((700 * 50 * 3, (50, 700)), (700 * 50, (25, 350))):
        with Image.open(io.BytesIO(scan_picture(ArraySource(page), most))) as image:
            assert (image.format, image.size) == ("JPEG", size)


def test_a_thumbnail_is_small(tmp_path):
    write_bitmap(tmp_path / "a.png", Bitmap.pack(np.eye(1000, dtype=bool)[:, :500]))
    with Image.open(io.BytesIO(thumbnail(tmp_path / "a.png"))) as image:
        assert image.size == (80, 160)
