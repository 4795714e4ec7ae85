"""The pictures of the web page."""

import numpy as np

from drmamba.service.page.pictures import overlay


def test_overlays_colour_by_value():
    page = np.full((100, 120, 3), 255, np.uint8)
    values = np.linspace(0, 1, 120, dtype=np.float32)[None].repeat(100, 0)
    seen = overlay(page, values)
    assert seen[50, 5].tolist() == [68, 1, 84]
    assert seen[50, 115].tolist() == [253, 231, 37]
