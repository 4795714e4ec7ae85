"""The published scores: pages, means, averages and tables say the same."""

import json
from pathlib import Path

import pytest

from drmamba import checkpoint
from drmamba.data.dibco import CONTEST_PAGES
from drmamba.experiments.report import CONTEST, number
from drmamba.experiments.studies.leave_one_out_report import CHOSEN, DEFAULT_KEY, average

FOLDS = Path(__file__).parents[3] / "docs" / "loo"
KEPT_OUT = json.loads((FOLDS / "kept_out_years.json").read_text())
RESULTS = json.loads((FOLDS / "results.json").read_text())


def test_means_follow_from_pages_and_the_average_from_means() -> None:
    for fold in RESULTS["years"].values():
        for measure in CONTEST:
            values = [float(page[measure]) for page in fold["pages"]]
            assert fold["mean"][measure] == pytest.approx(sum(values) / len(values))
    assert RESULTS["average"] == pytest.approx(average(RESULTS["years"]))
    assert RESULTS[f"{DEFAULT_KEY}_average"] == pytest.approx(average(RESULTS["years"], DEFAULT_KEY))


def test_the_table_is_that_of_the_results() -> None:
    lines = (FOLDS / "table.md").read_text().splitlines()
    for year, fold in RESULTS["years"].items():
        scores = " | ".join(number(fold["mean"][measure]) for measure in CONTEST)
        mark = f" {CHOSEN}" if year in RESULTS["chosen_on"] else ""
        assert any(line.startswith(f"| {year}{mark} | {len(fold['pages'])} | {scores} |") for line in lines)
    assert any(number(RESULTS["average"]["fm"]) in line for line in lines if line.startswith("| average"))


def test_classical_methods_stand_beside_every_year() -> None:
    for fold in RESULTS["years"].values():
        assert set(fold["classical"]) == {"otsu", "sauvola", "gatos", "su"}


def test_short_years_are_marked() -> None:
    text = (FOLDS / "table.md").read_text()
    for year, fold in RESULTS["years"].items():
        if len(fold["pages"]) != CONTEST_PAGES[year]:
            assert f"{year}: {len(fold['pages'])} of the contest's {CONTEST_PAGES[year]} pages" in text


def test_the_guide_says_the_same_of_every_year() -> None:
    text = (FOLDS.parent / "results.md").read_text()
    for year, fold in RESULTS["years"].items():
        best = max(fold["classical"], key=lambda name: float(fold["classical"][name]["fm"]))
        values = (fold["mean"]["fm"], fold[DEFAULT_KEY]["fm"], fold["classical"][best]["fm"])
        ours, default, theirs = (number(float(value)) for value in values)
        mark = f" {CHOSEN}" if year in RESULTS["chosen_on"] else ""
        row = f"| {year}{mark} | {len(fold['pages'])} | {ours} | {default} | {theirs} ({best}) |"
        assert row in text


def test_the_readme_states_the_averages() -> None:
    text = (FOLDS.parents[1] / "README.md").read_text()
    folds = RESULTS["years"].values()
    rows = [RESULTS["average"], RESULTS["everyday_average"]]
    for name in ("otsu", "sauvola", "gatos", "su"):
        means = [fold["classical"][name] for fold in folds]
        rows.append(
            {measure: sum(float(mean[measure]) for mean in means) / len(means) for measure in CONTEST}
        )
    for row in rows:
        assert " | ".join(number(float(row[measure])) for measure in CONTEST) in text


def test_the_model_that_ships_carries_these_scores() -> None:
    path = checkpoint.embedded("lite")
    assert path is not None
    origin = checkpoint.read_header(path)[1]
    assert origin.trained
    assert not origin.held_out
    assert set(CONTEST_PAGES) <= set(origin.data)
    stated = origin.metrics["years_kept_out_together"]["years"]
    assert sorted(stated) == sorted(KEPT_OUT["years"])
    for year, means in stated.items():
        assert means["fm"] == pytest.approx(KEPT_OUT["years"][year]["mean"]["fm"], abs=0.006)


def test_the_guides_state_the_years_kept_out_together() -> None:
    for guide in (FOLDS.parents[1] / "README.md", FOLDS.parent / "results.md"):
        for key in ("average", f"{DEFAULT_KEY}_average"):
            assert " | ".join(number(float(KEPT_OUT[key][m])) for m in CONTEST) in guide.read_text()
