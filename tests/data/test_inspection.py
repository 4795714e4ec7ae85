"""Training stops before it starts if its pairs are wrong or a page that it is scored on is among them."""

from pathlib import Path

import numpy as np
import pytest
from made_pages import write_pair, write_years
from PIL import Image

from drmamba.data.dibco import find_pairs, split
from drmamba.data.inspection import inspect
from drmamba.errors import DataError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_years(tmp_path / "data", {"2009": 2, "2010": 2, "2011": 2})
    return tmp_path / "data"


def parts(root: Path, extra: Path | None = None):
    found = find_pairs(extra) if extra else []
    return split(find_pairs(root), "2011", validate_on=["2010"], extra=found)


def copied(root: Path, extra: Path, change, truth) -> None:
    """Write a changed copy of a held-out page as another set."""
    for part, how in (("img", change), ("gt", truth)):
        source = sorted((root / "2011" / part).iterdir())[0]
        (extra / "other" / part).mkdir(parents=True)
        with Image.open(source) as image:
            how(image).save(extra / "other" / part / "page.png")


def unchanged(image):
    return image


def one_pixel(image):
    changed = image.copy()
    changed.putpixel((0, 0), 0 if changed.getpixel((0, 0)) else 255)
    return changed


def flipped(image):
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)


def cropped(image):
    return image.crop((1, 1, *image.size))


def scaled(image):
    return image.resize((2 * image.width, 2 * image.height))


LEAKS = [
    (unchanged, one_pixel),
    (unchanged, flipped),
    (cropped, cropped),
    (flipped, flipped),
    (scaled, scaled),
]


@pytest.mark.parametrize(("change", "truth"), LEAKS)
def test_a_changed_copy_of_a_held_out_page_is_refused(root, tmp_path, change, truth):
    copied(root, tmp_path / "extra", change, truth)
    with pytest.raises(DataError, match=r"same page.*other/page and 2011/|inverted or of another page"):
        inspect(parts(root, tmp_path / "extra"))


def test_a_held_out_page_as_a_texture_is_refused(root, tmp_path):
    (tmp_path / "paper").mkdir()
    with Image.open(sorted((root / "2011/img").iterdir())[0]) as image:
        image.convert("RGB").rotate(90, expand=True).save(tmp_path / "paper/sheet.jpg", quality=90)
    with pytest.raises(DataError, match=r"same page.*sheet\.jpg and 2011/"):
        inspect(parts(root), str(tmp_path / "paper"))


def test_an_inverted_ground_truth_is_refused(root):
    truth = sorted((root / "2009/gt").iterdir())[0]
    with Image.open(truth) as image:
        inverted = Image.fromarray(~np.asarray(image.convert("L")))
    inverted.convert("1").save(truth)
    with pytest.raises(DataError, match=r"inverted or of another page.*data check"):
        inspect(parts(root))


def test_sound_pages_give_the_hashes_of_what_is_learned_from(root):
    found = inspect(parts(root))
    assert {len(digest) for digest in found.hashes} == {256}
    assert found.learned(found.hashes) == []
    held = [digest for page in found.kept_apart for digest in page.hashes()]
    assert sorted(found.learned(held)) == sorted(page.label for page in found.kept_apart)


def test_left_out_pages_are_not_compared(tmp_path):
    write_pair(tmp_path, "2011", "PR1", seed=1)
    write_pair(tmp_path, "2017", "11", seed=1)  # the same sheet, which the split leaves out
    write_pair(tmp_path, "2017", "2", seed=2)
    write_pair(tmp_path, "2018", "1", seed=3)
    assert inspect(split(find_pairs(tmp_path), "2011", validate_on=["2018"])).hashes
