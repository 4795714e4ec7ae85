"""Pages at one bit a pixel."""

import numpy as np
import pytest

from drmamba.errors import ImageError
from drmamba.images import Bitmap

INK = np.random.default_rng(0).random((37, 51)) < 0.3


def test_bitmap_as_a_picture():
    np.testing.assert_array_equal(np.asarray(Bitmap.pack(INK).image().convert("L")) == 0, INK)


def test_a_packed_page_is_the_same_page():
    np.testing.assert_array_equal(Bitmap.pack(INK).unpack(), INK)


@pytest.mark.parametrize("wrong", [INK.astype(np.uint8), INK[0], INK[:0]])
def test_what_is_not_a_boolean_page_is_refused(wrong):
    with pytest.raises(ImageError, match="must be a boolean page"):
        Bitmap.pack(wrong)
