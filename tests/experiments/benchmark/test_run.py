"""A small data set, several methods: what a run measures, survives, remembers and reports."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from drmamba.errors import DataError
from drmamba.experiments.benchmark.methods import Method, parse_methods
from drmamba.experiments.benchmark.report import BenchmarkReport
from drmamba.experiments.benchmark.run import RESULTS, Benchmark, Row, choose_pairs
from drmamba.images import read_ink, write_ink
from drmamba.metrics import VERSION

pytest.importorskip("doxapy")


def run(methods: list[Method], root: Path, folder: Path) -> tuple[list[Row], BenchmarkReport]:
    pairs, problems = choose_pairs(root)
    rows = list(Benchmark(methods, pairs, folder, "default").run())
    return rows, BenchmarkReport(root, methods, pairs, rows, problems)


def test_methods_are_measured_scored_and_reported(root: Path, own: Path, tmp_path: Path) -> None:
    methods = parse_methods(["otsu", "sauvola", f"mine={own}"])
    rows, report = run(methods, root, tmp_path / "run")
    assert [(r.page, r.method) for r in rows[:4]] == [
        ("H01", "otsu"), ("H01", "sauvola"), ("H01", "mine"), ("H02", "otsu")
    ]  # fmt: skip
    assert len(rows) == 9
    otsu, mine = rows[0], rows[2]
    assert otsu.scores is not None
    assert otsu.scores.fm > 90
    assert otsu.seconds is not None
    assert 0 < otsu.seconds < 10
    assert otsu.pixels == 64 * 96
    assert otsu.memory is not None
    assert 2e7 < otsu.memory < 2e9
    assert mine.scores is not None
    assert (mine.seconds, mine.memory) == (None, None)
    assert (tmp_path / "run" / "pages" / "otsu" / "2009" / "H01.png").is_file()

    report.write(tmp_path / "run")
    written = json.loads((tmp_path / "run" / "report.json").read_text())
    assert [m["name"] for m in written["methods"]] == ["otsu", "sauvola", "mine"]
    assert written["methods"][0]["seconds_per_megapixel"] > 0
    assert written["methods"][2]["peak_memory_mb"] is None
    assert len(written["rows"]) == 9
    by_year = [written["methods"][0]["years"][year]["fm"] for year in ("2009", "2019")]
    assert written["methods"][0]["mean_over_years"]["fm"] == pytest.approx(sum(by_year) / 2)
    with Image.open(tmp_path / "run" / "scores.png") as plot:
        assert plot.size > (800, 600)
    text = (tmp_path / "run" / "report.md").read_text()
    assert "2019 (1 of 20)" in text
    assert "| otsu (doxapy" in text
    assert "| TransDocUNet | 92.44 | 93.86 | 22.16 | 0.49 | as printed in the paper, other protocol |" in text
    ours, theirs = text.split("For all ten years the paper prints:")  # two years are not ten: tables apart
    assert "| TransDocUNet" not in ours
    assert "| TransDocUNet" in theirs
    assert "| NAF-DPM | 74.61 | 76.25 | 15.39 | - | as printed in the paper, other protocol |" in text
    assert "2019: 1 of the contest's 20 pages" in report.text()


def test_a_run_goes_on_where_it_was_cut_off(root: Path, tmp_path: Path) -> None:
    pairs, _ = choose_pairs(root)
    methods = parse_methods(["otsu"])
    first = Benchmark(methods, pairs, tmp_path / "run", "default").run()
    next(first)
    next(first)
    first.close()
    log = tmp_path / "run" / RESULTS
    with log.open("a") as file:
        file.write('{"key": "cut o')  # as a crash would leave it
    again = Benchmark(methods, pairs, tmp_path / "run", "default")
    assert (again.done, again.total) == (2, 3)
    assert all(row.scores for row in again.run())
    third = Benchmark(methods, pairs, tmp_path / "run", "default")
    assert third.done == 3
    before = log.read_text()
    rows = list(third.run())
    assert [row for row in rows if not row.scores] == []
    assert log.read_text().strip() == before.strip()


def test_what_changed_is_measured_again(root: Path, own: Path, tmp_path: Path) -> None:
    pairs, _ = choose_pairs(root)
    methods = parse_methods([f"mine={own}"])
    before = list(Benchmark(methods, pairs, tmp_path / "run", "default").run())
    write_ink(own / "2009" / "H01.png", read_ink(root / "2009" / "gt" / "H01.png"))
    run = Benchmark(methods, pairs, tmp_path / "run", "default")
    assert run.done == 2
    after = list(run.run())
    assert before[0].scores is not None
    assert after[0].scores is not None
    assert after[0].scores.fm == 100 > before[0].scores.fm


def test_an_unreadable_page_is_reported_and_does_not_end_the_run(
    root: Path, own: Path, tmp_path: Path
) -> None:
    (root / "2009" / "img" / "H01.png").write_bytes(b"\x89PNG\r\n\x1a\n torn")
    (own / "2019" / "A01.png").unlink()
    methods = parse_methods(["otsu", f"mine={own}"])
    rows, report = run(methods, root, tmp_path / "run")
    failed = {(row.method, row.page): row.error for row in rows if not row.scores}
    assert set(failed) == {("otsu", "H01"), ("mine", "A01")}
    assert "H01.png" in failed["otsu", "H01"]
    assert "no prediction for 2019/A01" in failed["mine", "A01"]
    assert "| 2 of 3 |" in report.markdown()
    assert "mine: 1 of 3 pages have no score" in report.text()
    # There is no mean over a missing year.
    assert [s.over_years("fm") is None for s in report.standings] == [False, True]
    json.loads(report.json())
    report.write(tmp_path / "run")
    # Failures are retried.
    assert Benchmark(methods, choose_pairs(root)[0], tmp_path / "run", "default").done == 4


def test_a_broken_ground_truth_fails_for_every_method(root: Path, own: Path, tmp_path: Path) -> None:
    (root / "2019" / "gt" / "A01.png").write_bytes(b"nothing")
    rows, _ = run(parse_methods(["otsu", f"mine={own}"]), root, tmp_path / "run")
    assert [row.page for row in rows if row.error] == ["A01", "A01"]


def test_pages_without_a_partner_are_left_out_and_named(root: Path) -> None:
    (root / "2009" / "gt" / "H02.png").unlink()
    pairs, problems = choose_pairs(root)
    assert [pair.label for pair in pairs] == ["2009/H01", "2019/A01"]
    assert "H02.png" in problems[0]


def test_years_are_chosen_and_checked(root: Path, tmp_path: Path) -> None:
    assert [pair.name for pair in choose_pairs(root, ["2019"])[0]] == ["A01"]
    with pytest.raises(DataError, match=r"no year 2020 in .*; there are 2009, 2019"):
        choose_pairs(root, ["2020"])
    with pytest.raises(DataError, match="not a folder"):
        choose_pairs(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no pairs"):
        choose_pairs(tmp_path / "empty")


def test_a_network_says_what_it_was_trained_on(
    small_model: Callable[..., Path], root: Path, tmp_path: Path
) -> None:
    model = small_model(tmp_path / "m.safetensors", trained=True, data=("2009", "extra/set"), held_out="2019")
    methods = parse_methods([f"net={model}"])
    assert methods[0].seen == {"2009", "extra/set"}
    rows, report = run(methods, root, tmp_path / "run")
    assert all(row.scores and row.memory for row in rows)
    text = report.markdown()
    assert "† net has seen pages of 2009 in training" in text
    fm = next(line for line in text.split("## FM by year")[1].splitlines() if line.startswith("| net"))
    seen, unseen = fm.strip("| ").split(" | ")[1:]
    assert seen.endswith("†")
    assert not unseen.endswith("†")


def test_rows_survive_the_file(root: Path, tmp_path: Path) -> None:
    truth = read_ink(root / "2009" / "gt" / "H01.png")
    (tmp_path / "perfect").mkdir()
    write_ink(tmp_path / "perfect" / "2009_H01.png", truth)
    (tmp_path / "perfect" / "x").mkdir()
    pairs, _ = choose_pairs(root, ["2009"])
    methods = parse_methods([f"p={tmp_path / 'perfect'}"])
    row = next(Benchmark(methods, pairs[:1], tmp_path / "run", "default").run())
    assert row.scores is not None
    assert row.scores.psnr == float("inf")
    assert Row.from_dict(json.loads(json.dumps(row.to_dict(), allow_nan=False))) == row
    assert VERSION == "1"
