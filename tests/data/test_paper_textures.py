"""Blank sheets, made and given."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drmamba.data.paper_textures import (
    PaperTextures,
    fibres,
    is_ruled,
    laid_lines,
    paper,
    papyrus,
    texture_files,
)
from drmamba.errors import DataError


@pytest.mark.parametrize("make", [paper, papyrus])
@pytest.mark.parametrize("shape", [(64, 64), (50, 130), (600, 300)])
def test_sheets_are_in_range_reproducible_and_uneven(make, shape: tuple[int, int]) -> None:
    for seed in range(5):
        sheet = make(np.random.default_rng(seed), shape)
        assert sheet.shape == (*shape, 3)
        assert sheet.dtype == np.float32
        assert 0 <= sheet.min() <= sheet.max() <= 1
        assert sheet.std(axis=(0, 1)).max() > 1e-3
        assert (sheet == make(np.random.default_rng(seed), shape)).all()


def test_papyrus_is_darker_and_streakier_than_paper() -> None:
    rng = np.random.default_rng(0)
    sheets = [[make(rng, (128, 128)) for _ in range(12)] for make in (paper, papyrus)]
    assert np.mean(sheets[1]) < np.mean(sheets[0]) - 0.15
    assert np.mean([s.std() for s in sheets[1]]) > np.mean([s.std() for s in sheets[0]])


def test_fibres_run_across_and_laid_lines_repeat() -> None:
    streaks = fibres(np.random.default_rng(0), (100, 100), 1.0)
    assert np.abs(np.diff(streaks, axis=1)).mean() < np.abs(np.diff(streaks, axis=0)).mean()
    assert np.abs(laid_lines(np.random.default_rng(0), (100, 140))).max() < 0.2


def test_given_textures_are_used(tmp_path: Path) -> None:
    Image.new("RGB", (300, 200), (250, 190, 190)).save(tmp_path / "red.png")
    Image.new("L", (2500, 1900), 120).save(tmp_path / "large.jpg")
    papers = PaperTextures(tmp_path, share=1.0)
    assert max(max(t.shape) for t in papers.textures) <= 1600
    sheets = [papers.sheet(np.random.default_rng(seed), (90, 128)) for seed in range(20)]
    means = np.array([s.mean((0, 1)) for s in sheets])
    assert all(s.shape == (90, 128, 3) for s in sheets)
    red = means[:, 0] > 1.15 * means[:, 1]
    assert 0 < red.sum() < 20
    assert (means[~red] > 0.6).all()  # the dark one, as light as paper is on a scan


def test_ruled_paper_is_left_out_where_rules_are_ink(tmp_path: Path) -> None:
    (tmp_path / "ruled").mkdir()
    Image.new("RGB", (300, 200), (250, 190, 190)).save(tmp_path / "ruled" / "red.png")
    papers = PaperTextures(tmp_path, share=1.0)
    assert (
        papers.sheet(np.random.default_rng(0), (32, 32), ruled=False).std() > 0
    )  # procedural: there is no other
    for number in range(9):
        Image.new("RGB", (300, 200), (210, 210, 210)).save(tmp_path / "ruled" / f"{number}.png")
    Image.new("RGB", (300, 200), (190, 190, 250)).save(tmp_path / "blue.png")
    papers = PaperTextures(tmp_path, share=1.0)
    for ruled in (True, False):
        sheets = [papers.sheet(np.random.default_rng(seed), (32, 32), ruled=ruled) for seed in range(40)]
        blue = sum(bool(sheet[..., 2].mean() > 1.15 * sheet[..., 0].mean()) for sheet in sheets)
        assert 20 <= blue < 36 if ruled else blue == 40  # ruled ones are rarer, however many files there are


def test_linked_folders_count(tmp_path: Path) -> None:
    papers, given = tmp_path / "papers", tmp_path / "given"
    papers.mkdir()
    given.mkdir()
    Image.new("RGB", (20, 20)).save(papers / "a.png")
    (given / "ruled").symlink_to(papers)
    assert texture_files(given) == [given / "ruled" / "a.png"]
    assert is_ruled(texture_files(given)[0])


def test_without_textures_sheets_are_procedural_and_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    assert PaperTextures().sheet(np.random.default_rng(0), (32, 32)).shape == (32, 32, 3)
    with pytest.raises(DataError, match="no pictures of paper"):
        PaperTextures(tmp_path)
