"""Pictures in tone: they are found among text, stains are not, and each way to keep them does what it says."""

import numpy as np
import pytest
from scipy import ndimage
from stand_in import text_page

from drmamba.images import ArraySource
from drmamba.inference.pictures import find_pictures, grey_layers, render

BOX = (160, 130, 640, 450)  # left, top, right, bottom


def scan(kind):
    """Return a page of text with something that is not text in the middle, and the ink of the text."""
    page = text_page(800, 800, stroke=4).astype(np.float32)
    left, top, right, bottom = BOX
    ink = page < 128
    rng = np.random.default_rng(5)
    height, width = bottom - top, right - left
    clouds = ndimage.zoom(rng.random((height // 20, width // 20)), 20, order=1)
    tone = np.full((height, width), 60.0)
    tone[: clouds.shape[0], : clouds.shape[1]] = 40 + 120 * clouds
    if kind == "photograph":
        page[top:bottom, left:right] = tone
        ink[top - 8 : bottom + 8, left - 8 : right + 8] = False
    elif kind == "halftone":
        y, x = np.mgrid[:height, :width]
        screen = 128 + 60 * (np.cos((x + y) * 1.1) + np.cos((x - y) * 1.1))
        page[top:bottom, left:right] = np.where(tone < screen, 30, 220)
        ink[top - 8 : bottom + 8, left - 8 : right + 8] = False
    elif kind == "stain":
        y, x = np.mgrid[:800, :800]
        inside = ((x - 400) / 240) ** 2 + ((y - 290) / 160) ** 2 < 1
        page = np.where(inside, page * 0.5, page)
    elif kind == "black block":
        page[top:bottom, left:right] = 25
    return np.clip(page, 0, 255).astype(np.uint8), ink


def found(kind):
    page, ink = scan(kind)
    return find_pictures(page, ink.astype(np.uint8) * 255, 1, *page.shape)


@pytest.mark.parametrize("kind", ["photograph", "halftone"])
def test_pictures_are_found(kind):
    (picture,) = found(kind)
    assert np.abs(np.subtract(picture.box, BOX)).max() <= 24


@pytest.mark.parametrize("kind", ["text", "stain", "black block"])
def test_text_stains_and_blocks_are_no_pictures(kind):
    assert found(kind) == ()


def test_the_box_is_in_pixels_of_the_page():
    page, ink = scan("photograph")
    (picture,) = find_pictures(page, ink.astype(np.uint8) * 255, 3, 2400, 2400)
    assert np.abs(np.subtract(picture.box, 3 * np.array(BOX))).max() <= 72


def rendered(style, *, inverted=False):
    page, _ = scan("photograph")
    (picture,) = found("photograph")
    source = ArraySource(255 - page if inverted else page)
    parts = list(render(source, picture, style, inverted=inverted))
    assert [top for top, _, _ in parts] == list(range(picture.top, picture.bottom, 512))
    return page[picture.top : picture.bottom, picture.left : picture.right], np.concatenate(
        [ink for _, _, ink in parts]
    )


def test_dots_have_the_tone_of_the_picture():
    grey, ink = rendered("dither")
    cells = [np.asarray(part[:304, :464], float).reshape(19, 16, 29, 16).mean((1, 3)) for part in (grey, ink)]
    assert np.corrcoef(cells[0].ravel(), cells[1].ravel())[0, 1] < -0.95
    np.testing.assert_array_equal(ink, rendered("dither", inverted=True)[1])


def test_a_threshold_makes_areas():
    grey, ink = rendered("threshold")
    assert grey[ink].max() <= grey[~ink].min()


@pytest.mark.parametrize("style", ["white", "grey"])
def test_nothing_is_left_in_the_ink(style):
    assert not rendered(style)[1].any()


def test_a_grey_layer_is_a_jpeg_of_the_box():
    page, _ = scan("photograph")
    pictures = found("photograph")
    (layer,) = grey_layers(ArraySource(page), pictures, inverted=False)
    left, top, right, bottom = pictures[0].box
    assert (layer.width, layer.height) == (right - left, bottom - top)
    assert layer.jpeg.startswith(b"\xff\xd8")
