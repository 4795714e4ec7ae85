"""What is written is read back the same."""

import numpy as np
import pytest

from drmamba.errors import ImageError
from drmamba.images import read_ink, read_rgb, write_ink


@pytest.mark.parametrize("suffix", [".png", ".tif", ".tiff", ".pdf"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (33, 17), (40, 64)])
def test_ink_survives_a_round_trip(tmp_path, suffix, shape):
    ink = np.random.default_rng(0).random(shape) < 0.4
    write_ink(tmp_path / f"page{suffix}", ink, dpi=300)
    np.testing.assert_array_equal(read_ink(tmp_path / f"page{suffix}"), ink)
    assert (read_rgb(tmp_path / f"page{suffix}") == np.where(ink, 0, 255)[:, :, None]).all()


def test_a_grey_page_is_no_ink(tmp_path):
    from PIL import Image

    Image.new("L", (4, 4), 128).save(tmp_path / "grey.png")
    with pytest.raises(ImageError, match="not black and white"):
        read_ink(tmp_path / "grey.png")
