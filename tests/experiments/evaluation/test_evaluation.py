"""Which prediction belongs to which ground truth, and what happens to those that cannot be scored."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drmamba.errors import DataError
from drmamba.experiments.evaluation.pairing import pair
from drmamba.experiments.evaluation.report import EvaluationReport
from drmamba.experiments.evaluation.scoring import evaluate
from drmamba.images import write_ink


def ink(seed: int, shape: tuple[int, int] = (40, 50)) -> np.ndarray:
    return np.random.default_rng(seed).random(shape) < 0.2


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    found, truth = tmp_path / "found", tmp_path / "truth"
    for folder in (found, truth):
        folder.mkdir()
    return found, truth


def test_names_are_matched_whatever_the_files_are_called(folders: tuple[Path, Path]) -> None:
    found, truth = folders
    for name in ("H01.png", "H02.bin.png", "page10.tif", "page9.png", "alone.png"):
        write_ink(found / name, ink(1))
    for name in ("H01_GT.png", "H02.tiff", "page9_estGT.png", "page10-gt.png", "lonely.png"):
        write_ink(truth / name, ink(1))
    (truth / "H01_RWeights.dat").write_text("0.0  ")
    pairing = pair(found, truth)
    assert [(c.name, c.prediction.name, c.truth.name) for c in pairing.cases] == [
        ("H01", "H01.png", "H01_GT.png"),
        ("H02", "H02.bin.png", "H02.tiff"),
        ("page9", "page9.png", "page9_estGT.png"),
        ("page10", "page10.tif", "page10-gt.png"),
    ]
    assert [path.name for path in pairing.missing] == ["lonely.png"]
    assert [path.name for path in pairing.extra] == ["alone.png"]


def test_two_files_need_no_common_name(tmp_path: Path) -> None:
    write_ink(tmp_path / "a.png", ink(1))
    write_ink(tmp_path / "b.png", ink(1))
    assert len(pair(tmp_path / "a.png", tmp_path / "b.png").cases) == 1


def test_what_cannot_be_matched_is_said(folders: tuple[Path, Path], tmp_path: Path) -> None:
    found, truth = folders
    with pytest.raises(DataError, match="does not exist"):
        pair(tmp_path / "nowhere", truth)
    with pytest.raises(DataError, match="holds no images"):
        pair(found, truth)
    write_ink(truth / "a.png", ink(1))
    with pytest.raises(DataError, match="one of each"):
        pair(found, truth / "a.png")
    write_ink(found / "b.png", ink(1))
    with pytest.raises(DataError, match="names must agree"):
        pair(found, truth)
    write_ink(truth / "a_GT.png", ink(1))
    with pytest.raises(DataError, match="have the same name"):
        pair(found, truth)
    (tmp_path / "years" / "2009").mkdir(parents=True)
    with pytest.raises(DataError, match="drmamba benchmark"):
        pair(found, tmp_path / "years")


def test_a_page_that_cannot_be_scored_says_why_and_the_others_are(folders: tuple[Path, Path]) -> None:
    found, truth = folders
    for name in ("good", "grey", "small", "torn"):
        write_ink(truth / f"{name}.png", ink(1))
    write_ink(found / "good.png", ink(1))
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 50), np.uint8)).save(found / "grey.png")
    write_ink(found / "small.png", ink(1, (40, 49)))
    (found / "torn.png").write_bytes(b"\x89PNG\r\n\x1a\n torn")
    pairing = pair(found, truth)
    results = {r.case.name: r for r in evaluate(pairing.cases, workers=2)}
    assert results["good"].scores is not None
    assert results["good"].scores.fm == 100
    assert "not black and white" in results["grey"].error
    assert "49 x 40" in results["small"].error
    assert "50 x 40" in results["small"].error
    assert "torn.png" in results["torn"].error
    grey = next(evaluate([c for c in pairing.cases if c.name == "grey"], threshold=128))
    assert grey.scores is not None
    assert 0 < grey.scores.fm < 100


def test_weight_maps_are_kept_in_the_folder(folders: tuple[Path, Path], tmp_path: Path) -> None:
    found, truth = folders
    write_ink(found / "a.png", ink(2))
    write_ink(truth / "a.png", ink(1))
    cases = pair(found, truth).cases
    (first,) = evaluate(cases, weights=tmp_path / "maps")
    assert (tmp_path / "maps" / "a_PWeights.dat").is_file()
    (again,) = evaluate(cases, weights=tmp_path / "maps")
    assert first.scores is not None
    assert again.scores is not None
    assert again.scores.pfm == pytest.approx(first.scores.pfm, abs=1e-4)
    write_ink(truth / "a.png", ink(3))
    (stale,) = evaluate(cases, weights=tmp_path / "maps")
    assert "another ground truth" in stale.error


def test_a_report_without_any_score_has_no_mean(folders: tuple[Path, Path]) -> None:
    found, truth = folders
    (found / "a.png").write_bytes(b"nothing")
    write_ink(truth / "a.png", ink(1))
    pairing = pair(found, truth)
    report = EvaluationReport(found, truth, pairing, list(evaluate(pairing.cases)))
    assert report.summary is None
    assert '"mean": {}' in report.json()
    assert "mean" not in report.csv()
    assert "-" in report.table().splitlines()[2]
