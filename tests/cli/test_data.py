"""`drmamba data` as it is typed."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
from made_pages import write_years

from drmamba.cli import group


def run(*words: object) -> object:
    return CliRunner().invoke(group, ["data", *map(str, words)])


def test_check_counts_and_exits_well(tmp_path: Path) -> None:
    write_years(tmp_path, {"2009": 2, "2010": 10, "ours": 1})
    result = run("check", tmp_path)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == ["2009\t2", "2010\t10", "ours\t1", "total\t13"]
    assert result.stderr == "2009: 2 of the contest's 10 pages are here\n"


def test_check_names_what_is_wrong_and_exits_with_one(tmp_path: Path) -> None:
    write_years(tmp_path, {"2009": 2})
    (tmp_path / "2009/gt/2.png").unlink()
    result = run("check", tmp_path)
    assert result.exit_code == 1
    assert "img/2.png: there is no ground truth" in result.stderr
    assert result.stdout.splitlines()[-1] == "total\t1"


def test_import_lays_out_and_reports(tmp_path: Path) -> None:
    write_years(tmp_path / "in", {"DIBCO2013": 2})
    result = run("import", tmp_path / "in", "-o", tmp_path / "root")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("2013\t2\t(2 written")
    assert run("check", tmp_path / "root").exit_code == 0


@pytest.mark.parametrize("options", [[], ["--finished"]])
def test_preview_draws_a_sheet_of_real_pages(tmp_path: Path, options: list[str]) -> None:
    write_years(tmp_path / "root", {"2009": 2})
    sheet = tmp_path / "sheet.png"
    result = run("preview", "--data", tmp_path / "root", "-o", sheet, "--crop", 48, "--columns", 2, *options)
    assert result.exit_code == 0, result.output
    with Image.open(sheet) as picture:
        assert picture.width >= 4 * 48
        assert len(picture.convert("L").getcolors()) > 20


def test_preview_shows_the_crops_of_a_recipe(tmp_path: Path) -> None:
    write_years(tmp_path / "root", {"2009": 2})
    drawn = []
    for preset in ("lite", "tiny"):  # tiny's crops are flipped, lite's are not
        sheet = tmp_path / f"{preset}.png"
        options = ("--crop", 48, "--columns", 3, "--finished", "--preset", preset)
        assert run("preview", "--data", tmp_path / "root", "-o", sheet, *options).exit_code == 0
        drawn.append(sheet.read_bytes())
    assert drawn[0] != drawn[1]


def test_preview_without_data_is_synthetic(tmp_path: Path) -> None:
    result = run("preview", "-o", tmp_path / "sheet.jpg", "--crop", 64, "--columns", 1)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "sheet.jpg").stat().st_size > 10_000


def test_a_picture_of_no_kind_is_refused(tmp_path: Path) -> None:
    result = run("preview", "-o", tmp_path / "sheet.doc", "--crop", 32, "--columns", 1)
    assert result.exit_code != 0
    assert ".png" in str(result.exception)


def test_synthesize_writes_pairs_that_pass_the_check(tmp_path: Path) -> None:
    small = ("--count", 3, "--width", 160, "--height", 120)
    result = run("synthesize", "-o", tmp_path / "made", *small, "--kind", "pen")
    assert result.exit_code == 0, result.output
    assert len(list((tmp_path / "made/img").glob("pen-0-*.png"))) == 3
    assert run("check", tmp_path / "made").exit_code == 0
    again = run("synthesize", "-o", tmp_path / "again", *small, "--world", "pen")  # the older name of --kind
    assert again.exit_code == 0
    for path in (tmp_path / "made").rglob("*.png"):
        twin = tmp_path / "again" / path.relative_to(tmp_path / "made")
        assert path.read_bytes() == twin.read_bytes()
