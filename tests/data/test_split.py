"""No page crosses from one role to another."""

import json
import shutil
from pathlib import Path

import pytest
from made_pages import write_pair, write_years
from PIL import Image

from drmamba.data.dibco import Pair, find_pairs, split, years
from drmamba.data.manifest import manifest
from drmamba.errors import DataError


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    root = tmp_path_factory.mktemp("years")
    write_years(root, {"2009": 5, "2010": 6, "2011": 7, "2018": 4})
    return find_pairs(root)


def labels(pairs: tuple[Pair, ...]) -> set[str]:
    return {pair.label for pair in pairs}


@pytest.mark.parametrize("hold_out", ["2009", "2010", "2011", "2018", 2018, None])
@pytest.mark.parametrize("validate_on", [(), ("2010",)])
def test_no_page_crosses(pairs: list[Pair], hold_out: str | int | None, validate_on: tuple[str, ...]) -> None:
    if str(hold_out) in validate_on:
        with pytest.raises(DataError, match="held out"):
            split(pairs, hold_out, validate_on=validate_on)
        return
    parts = split(pairs, hold_out, validate_on=validate_on)
    sets = [labels(parts.train), labels(parts.validation), labels(parts.held_out)]
    assert sum(map(len, sets)) == len(set().union(*sets)) == len(pairs)
    assert labels(parts.held_out) == {p.label for p in pairs if p.year == str(hold_out)}
    assert not {p.year for p in (*parts.train, *parts.validation)} & {str(hold_out)}
    if validate_on:
        assert {p.year for p in parts.validation} == set(validate_on)
        assert not {p.year for p in parts.train} & set(validate_on)
    record = manifest(parts)
    seen: dict[str, str] = {}
    for page in record["pages"]:  # not by name: by what is on the page
        assert seen.setdefault(page["page"], page["role"]) == page["role"]
        assert len(page["image_sha256"]) == len(page["truth_sha256"]) == 64
    assert len(record["pages"]) == len(pairs)
    json.dumps(record)


def test_validation_is_a_fixed_share(pairs: list[Pair]) -> None:
    first, again = split(pairs, "2018", share=0.25), split(list(reversed(pairs)), "2018", share=0.25)
    assert labels(first.validation) == labels(again.validation)
    assert len(first.validation) == round(0.25 * 18)
    assert labels(first.validation) != labels(split(pairs, "2018", share=0.25, seed=1).validation)
    assert not split(pairs, "2018", share=0).validation


def test_a_page_keeps_its_lot_when_others_go(pairs: list[Pair]) -> None:
    all_years = labels(split(pairs, None, share=0.3).validation)
    without = labels(split([p for p in pairs if p.year != "2009"], None, share=0.3).validation)
    stayed = {name for name in all_years if not name.startswith("2009")}
    assert len(stayed & without) >= min(len(stayed), len(without)) - 2  # only the border of the share moves


def test_extra_pairs_join_training_only(pairs: list[Pair], tmp_path: Path) -> None:
    write_years(tmp_path, {"letters": 2, "2018": 3, "2010": 2})
    extra = find_pairs(tmp_path)
    parts = split(pairs, "2018", validate_on=["2010"], extra=extra)
    assert {p.label for p in parts.train if tmp_path in p.image.parents} == {"letters/1", "letters/2"}
    assert not any(tmp_path in p.image.parents for p in (*parts.validation, *parts.held_out))


@pytest.mark.parametrize("held_out", [True, False])
def test_a_copy_in_another_format_is_recognized(pairs: list[Pair], tmp_path: Path, held_out: bool) -> None:
    victim = split(pairs, "2018").held_out[0] if held_out else split(pairs, "2018").validation[0]
    (tmp_path / "set/img").mkdir(parents=True)
    (tmp_path / "set/gt").mkdir()
    shutil.copy(victim.image, tmp_path / "set/img/renamed.png")
    Image.open(victim.truth).convert("RGB").save(tmp_path / "set/gt/renamed.bmp")
    parts = split(pairs, "2018", extra=find_pairs(tmp_path))
    with pytest.raises(DataError, match=r"renamed.*same page|same page.*renamed") as caught:
        manifest(parts)
    assert str(victim.truth) in str(caught.value)


def test_pages_without_ink_are_told_apart_by_their_pictures(tmp_path: Path) -> None:
    write_years(tmp_path, {"2009": 2, "2010": 2})
    for number, truth in enumerate(sorted(tmp_path.glob("*/gt/1.png"))):
        Image.new("1", (80, 60), 1).save(truth)
        Image.new("L", (80, 60), 100 + number).save(truth.parents[1] / "img/1.png")
    assert len(manifest(split(find_pairs(tmp_path), "2009"))["pages"]) == 4


def test_wrong_years_are_refused(pairs: list[Pair]) -> None:
    with pytest.raises(DataError, match=r"no year 1999.*2009, 2010, 2011, 2018"):
        split(pairs, "1999")
    with pytest.raises(DataError, match="no page is left"):
        split([p for p in pairs if p.year in ("2009", "2018")], "2018", validate_on=["2009"])


@pytest.mark.parametrize(
    ("hold_out", "gone"), [("2017", ["PR1", "PR2", "PR3"]), ("2011", ["11", "13", "16"])]
)
def test_sheets_that_two_years_share_are_left_out(tmp_path: Path, hold_out: str, gone: list[str]) -> None:
    names = {"2011": ["PR1", "PR2", "PR3", "PR4"], "2017": ["11", "12", "13", "16"], "2018": ["1", "2"]}
    for offset, (year, pages) in enumerate(names.items()):
        for number, name in enumerate(pages):
            write_pair(tmp_path, year, name, seed=100 * offset + number)
    found = find_pairs(tmp_path)
    parts = split(found, hold_out, share=0.2)
    assert sorted(p.name for p in parts.left_out) == gone
    assert len(parts.held_out) == 4
    everything = [*parts.train, *parts.validation, *parts.held_out, *parts.left_out]
    assert sorted(p.label for p in everything) == sorted(p.label for p in found)
    assert [page["role"] for page in manifest(parts)["pages"]].count("left_out") == 3
    watched = split(found, "2018", validate_on=[hold_out])
    assert sorted(p.name for p in watched.left_out) == gone
    assert not set(gone) & {p.name for p in watched.train}


def test_real_years_do_not_cross(data_root: Path) -> None:
    found = find_pairs(data_root)
    for year in years(found):
        parts = split(found, year)
        assert {p.year for p in parts.held_out} == {year}
        assert year not in {p.year for p in (*parts.train, *parts.validation)}
    pages = manifest(split(found, years(found)[-1]))["pages"]
    assert len({page["page"] for page in pages}) == len(found)  # so no fold can share a page with another


def test_pairs_differ_in_order_only_by_year_and_number(tmp_path: Path) -> None:
    for number in (10, 9, 1):
        write_pair(tmp_path, "2016", str(number), seed=number)
    assert [pair.name for pair in find_pairs(tmp_path)] == ["1", "9", "10"]
