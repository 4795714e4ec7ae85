"""Which file is what, in our folders and in the contests'."""

from pathlib import Path, PurePath

import pytest

from drmamba.data.dibco import find_pairs, match
from drmamba.data.layout import classify, entries, natural, year_in
from drmamba.errors import DataError

# The folders that the published archives unpack to, one page of each: (page, its ground truth, year, name).
PUBLISHED = [
    (
        "DIBC02009_Test_images-handwritten/H01.bmp",
        "DIBCO2009-GT-Test-images_handwritten/H01.tiff",
        "2009",
        "H01",
    ),
    ("DIBCO2009_Test_images-printed/P05.bmp", "DIBCO2009-GT-Test-images_printed/P05.tiff", "2009", "P05"),
    ("H_DIBCO2010_test_images/H04.bmp", "H_DIBCO2010_GT/H04_estGT.tiff", "2010", "H04"),
    ("DIBCO11-handwritten/HW1.png", "DIBCO11-handwritten/HW1_GT.tiff", "2011", "HW1"),
    ("H-DIBCO2012-dataset/H14.png", "H-DIBCO2012-dataset/H14_GT.tif", "2012", "H14"),
    (
        "DIBCO2013-dataset/OriginalImages/HW01.bmp",
        "DIBCO2013-dataset/GTimages/HW01_estGT.tiff",
        "2013",
        "HW01",
    ),
    ("HDIBCO2014/original_images/H07.png", "HDIBCO2014/GT/H07_estGT.tiff", "2014", "H07"),
    ("H-DIBCO-2016/DIPCO2016_dataset/9.bmp", "H-DIBCO-2016/DIPCO2016_Dataset_GT/9_gt.bmp", "2016", "9"),
    ("DIBCO2017_Dataset/Dataset/12.bmp", "DIBCO2017_GT/GT/12_gt.bmp", "2017", "12"),
    ("dibco2018_Dataset/dataset/3.bmp", "dibco2018-GT/gt/3_gt.bmp", "2018", "3"),
    ("dibco2019_dataset_trackB/Dataset/11.bmp", "dibco2019_GT_trackB/GT/11.bmp", "2019", "11"),
    ("2016/img/10.png", "2016/gt/10.png", "2016", "10"),
]


def touch(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")


@pytest.mark.parametrize(("page", "truth", "year", "name"), PUBLISHED)
def test_published_folders_are_understood(
    tmp_path: Path, page: str, truth: str, year: str, name: str
) -> None:
    touch(tmp_path, page, truth)
    (pair,) = find_pairs(tmp_path)
    assert (pair.year, pair.name) == (year, name)
    assert (pair.image, pair.truth) == (tmp_path / page, tmp_path / truth)


def test_all_published_folders_side_by_side(tmp_path: Path) -> None:
    touch(tmp_path, *(name for row in PUBLISHED for name in row[:2]))
    touch(
        tmp_path,
        "H_DIBCO2010_GT/H04_skelGT.tiff",
        "dibco2018-GT/weights/3_gt_PWeights.dat",
        "2016/img/Thumbs.db",
    )
    assert len(find_pairs(tmp_path)) == len(PUBLISHED)


@pytest.mark.parametrize(
    "pictures", [("img/a.png", "gt/a.png"), ("a.png", "a_GT.png"), ("images/a.jpg", "GT/a_gt.png")]
)
def test_one_set_by_itself_is_named_after_its_folder(tmp_path: Path, pictures: tuple[str, str]) -> None:
    touch(tmp_path / "letters", *pictures)
    (pair,) = find_pairs(tmp_path / "letters")
    assert pair.label == "letters/a"


def test_named_sets_are_found_and_pictures_without_truth_are_no_set(tmp_path: Path) -> None:
    touch(tmp_path, "letters/img/a.png", "letters/gt/a.png", "paper_textures/blank.jpg")
    assert [pair.label for pair in find_pairs(tmp_path)] == ["letters/a"]


def test_a_folder_called_for_its_truth_may_hold_the_pages_too(tmp_path: Path) -> None:
    touch(tmp_path, "DIBCO2012-with-GT/H01.png", "DIBCO2012-with-GT/H01_GT.tif")
    (pair,) = find_pairs(tmp_path)
    assert pair.image.name == "H01.png"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["2010/img/a.png"], "no ground truth"),
        (["2010/gt/a.png"], "no page"),
        (["2010/img/a.png", "2010/img/a.jpg", "2010/gt/a.png"], "more than one"),
    ],
)
def test_a_page_without_its_one_partner_is_named(tmp_path: Path, names: list[str], words: str) -> None:
    touch(tmp_path, *names)
    pairs, problems = match(entries(tmp_path))
    assert not pairs
    assert len(problems) == 1
    assert words in problems[0]
    with pytest.raises(DataError, match=words):
        find_pairs(tmp_path)


def test_an_empty_or_missing_root_says_what_belongs_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="<year>/img"):
        find_pairs(tmp_path)
    with pytest.raises(DataError, match="not a folder"):
        find_pairs(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "year"),
    [
        ("DIBC02009_Test", "2009"),
        ("DIBCO11-handwritten", "2011"),
        ("2019", "2019"),
        ("GT", None),
        ("fonds_12345", None),
    ],
)
def test_years_in_names(name: str, year: str | None) -> None:
    assert year_in(name) == year


def test_a_letter_combination_is_no_ground_truth() -> None:
    assert classify(PurePath("2009/img/insgt.png")) == ("image", "insgt")
    assert classify(PurePath("length/img/1.png")) == ("image", "1")
    assert classify(PurePath("2009/img/notes.txt")) is None


def test_page_ten_follows_page_nine() -> None:
    assert sorted(["10", "9", "A2", "A10", "a3"], key=natural) == ["9", "10", "A2", "a3", "A10"]
