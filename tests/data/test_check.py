"""Wrong pairs are named, right ones pass."""

from pathlib import Path

import numpy as np
import pytest
from made_pages import write_pair, write_years
from PIL import Image, ImageOps

from drmamba.data.check import check
from drmamba.errors import DataError


def test_a_sound_root_has_no_problems(tmp_path: Path) -> None:
    write_years(tmp_path, {"2009": 2, "2010": 3})
    findings = check(tmp_path)
    assert findings.years == {"2009": 2, "2010": 3}
    assert not findings.problems


def shrink(root: Path) -> None:
    Image.new("1", (10, 10), 1).save(root / "2010/gt/2.png")


def grey(root: Path) -> None:
    Image.fromarray(np.arange(4800, dtype=np.uint8).reshape(60, 80)).save(root / "2010/gt/2.png")


def invert(root: Path) -> None:
    truth = Image.open(root / "2010/gt/2.png").convert("L")
    ImageOps.invert(truth).convert("1").save(root / "2010/gt/2.png")


def lose(root: Path) -> None:
    (root / "2010/gt/2.png").unlink()


def orphan(root: Path) -> None:
    (root / "2010/img/2.png").unlink()


def damage(root: Path) -> None:
    (root / "2010/img/2.png").write_bytes(b"not a picture")


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (shrink, "10 x 10 pixels, but the page has 80 x 60"),
        (grey, "not black and white"),
        (invert, "inverted"),
        (lose, "no ground truth"),
        (orphan, "no page"),
        (damage, "is damaged"),
    ],
)
def test_each_fault_is_named_with_its_file(tmp_path: Path, harm, words: str) -> None:
    write_years(tmp_path, {"2009": 2, "2010": 3})
    harm(tmp_path)
    (problem,) = check(tmp_path).problems
    assert words in problem
    assert str(tmp_path / "2010") in problem
    assert "2.png" in problem


def test_a_blank_page_is_no_fault(tmp_path: Path) -> None:
    write_pair(tmp_path, "2009", "1", seed=0)
    Image.new("1", (80, 60), 1).save(tmp_path / "2009/gt/1.png")
    assert not check(tmp_path).problems


def test_nothing_to_check_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no pairs"):
        check(tmp_path)


def test_the_real_pages_are_sound(data_root: Path) -> None:
    findings = check(data_root)
    assert not findings.problems
    assert set(findings.years) >= {"2009", "2018"}
