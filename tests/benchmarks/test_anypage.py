"""The made pages of benchmarks/anypage.py: always the same, with a truth that fits the picture, and fair scores."""

import ast
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# Training makes its pages with these; a benchmark that used them would show the network what it knows.
FORBIDDEN = ("drmamba.data", "drmamba.training")


def import_benchmark(name: str) -> ModuleType:
    """A module of the benchmarks, whose folder is on the path only for as long as the import takes."""
    sys.path.append(str(BENCHMARKS))  # at the end: files there have names such as onnx.py
    try:
        __import__(name)
    finally:
        sys.path.remove(str(BENCHMARKS))
    return sys.modules[name]


pages = import_benchmark("anypage_pages")
fonts = import_benchmark("anypage_pages.fonts")
scores = import_benchmark("anypage_scoring.scores")
judges = import_benchmark("anypage_scoring.judging")
report = import_benchmark("anypage_scoring.report")
reading = import_benchmark("reading")


@pytest.fixture(scope="module")
def page():
    """A page with text, a headline, rules and a drawing."""
    try:
        fonts.require_fonts()
    except ImportError as error:
        pytest.skip(str(error))
    return pages.make_page("frame and ornaments", 1)


def hand_made(**masks: list[tuple[int, int]]):
    """A page of 20 x 20 pixels with single pixels of ink, given as rows and columns."""
    truth = {}
    for name, places in masks.items():
        mask = np.zeros((20, 20), np.bool_)
        for row, column in places:
            mask[row, column] = True
        truth[name.replace("_", " ")] = mask
    tone = np.zeros((20, 20), np.bool_)
    tone[15:, 15:] = True
    return pages.Page("hand-made", 0, np.full((20, 20, 3), 255, np.uint8), truth, tone)


def test_page_depends_on_kind_and_number_only(page) -> None:
    pages.make_page("other scripts", 0)  # what was made before does not matter
    again = pages.make_page("frame and ornaments", 1)
    assert np.array_equal(page.scan, again.scan)
    assert all(np.array_equal(page.masks[name], again.masks[name]) for name in page.masks)
    assert page.blocks == again.blocks


def test_categories_are_disjoint(page) -> None:
    assert set(page.masks) == {"text", "headline", "rule", "drawing"}
    assert np.sum(list(page.masks.values()), axis=0).max() == 1
    assert np.array_equal(page.ink, np.any(list(page.masks.values()), axis=0))


def test_ink_of_every_category_is_darker_than_what_surrounds_it(page) -> None:
    grey = page.scan.mean(axis=2)
    for name, mask in page.masks.items():
        around = scores.near(mask, 5) & ~scores.near(page.ink, 2)
        assert grey[mask].mean() < grey[around].mean() - 40, name


def test_blocks_hold_ink_of_their_category(page) -> None:
    assert page.blocks
    for block in page.blocks:
        left, top, right, bottom = (round(side) for side in block.box)
        assert page.masks[block.category][top:bottom, left:right].mean() > 0.03


def test_benchmark_has_enough_pages_and_kinds() -> None:
    counts = [pages.page_count(kind) for kind in pages.KINDS]
    assert len(counts) >= 12
    assert sum(counts) >= 200
    assert pages.page_count("distant bleed-through") == pages.page_count("half stain") == 40


def test_perfect_result_scores_perfectly(page) -> None:
    result = scores.score_page(page.ink, page)
    assert result.fm == result.fm_contest == 100
    assert result.false_ink == 0
    assert set(result.kept.values()) == {100}


def test_scores_of_known_pixels() -> None:
    page = hand_made(text=[(2, 2), (2, 3)], rule=[(8, 2), (8, 3), (8, 4), (8, 5)])
    found = np.zeros((20, 20), np.bool_)
    found[2, 2] = True  # one of two pixels of text
    found[8, 2:5] = True  # three of four of the rule
    found[2, 1] = True  # beside the text: wrong for FM, but no false ink
    found[13, 10] = True  # far from everything
    found[17:19, 17:19] = True  # in the tone area, where nothing counts
    result = scores.score_page(found, page)
    assert result.kept == {"text": 50, "rule": 75}
    assert result.false_ink == pytest.approx(100 / 6)
    assert result.fm == pytest.approx(100 * 2 * 4 / (6 + 6))  # tp 4, found 6, true 6
    assert result.fm_loose == pytest.approx(100 * 2 * 4 / (5 + 6))  # what touches the text is not wrong
    assert result.fm_contest == pytest.approx(100 * 2 * 1 / (3 + 2))  # the rule is ignored


def test_blank_result_keeps_nothing_and_adds_nothing() -> None:
    result = scores.score_page(np.zeros((20, 20), np.bool_), hand_made(headline=[(4, 4)]))
    assert result.kept == {"headline": 0}
    assert result.false_ink == result.fm == 0


def test_page_without_writing_has_no_contest_score() -> None:
    assert scores.score_page(np.ones((20, 20), np.bool_), hand_made(drawing=[(4, 4)])).fm_contest is None


def test_results_are_kept_between_runs(page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "make_page", lambda *_: page)
    judging = judges.Judging(("truth",), "lite", None, False, tmp_path, None)
    first = judges.Judge(judging).judge(page.kind, page.number)
    kept = sorted(path.suffix for path in tmp_path.rglob("*.*"))
    assert kept == [".json", ".png"]
    assert judges.Judge(judging).judge(page.kind, page.number) == json.loads(json.dumps(first))
    next(tmp_path.rglob("*.json")).unlink()  # as if the scores had changed: the ink is read back
    assert judges.Judge(judging).judge(page.kind, page.number) == first


@pytest.mark.parametrize(
    ("found", "text", "distance"),
    [("", "abc", 3), ("kitten", "sitting", 3), ("same", "same", 0), ("a b", "ab", 1)],
)
def test_edit_distance(found: str, text: str, distance: int) -> None:
    assert reading.edit_distance(found, text) == distance
    assert reading.edit_distance(text, found) == distance


def row(method: str, fm: float, kept: dict[str, float], wrong: int = 0) -> dict[str, object]:
    """A result on one newspaper."""
    characters = {"small print": [wrong, 100]}
    facts = {"kind": "newspaper", "number": 0, "method": method, "false_ink": 0.0}
    return {**facts, "fm": fm, "fm_loose": fm, "fm_contest": fm, "kept": kept, "characters": characters}


def test_goals_name_what_was_measured() -> None:
    kept = {"headline": 95.0, "rule": 85.0, "small print": 99.0}
    means = report.mean_scores([row("drmamba", 80, kept, wrong=4), row("otsu", 90, kept)])
    by_name = {one["goal"]: one for one in report.goals(means)}
    met = [one["met"] for one in by_name.values()]
    assert met == [False, None, True, False, None, None]
    assert "rule of newspaper" in next(iter(by_name.values()))["measured"]
    assert "| newspaper | otsu | 95.0 | 85.0 |" in report.table(means)


def test_benchmark_shares_no_code_with_training() -> None:
    files = [BENCHMARKS / "anypage.py", BENCHMARKS / "reading.py"]
    files += [*(BENCHMARKS / "anypage_pages").glob("*.py"), *(BENCHMARKS / "anypage_scoring").glob("*.py")]
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            assert not [name for name in names if name.startswith(FORBIDDEN)], path
