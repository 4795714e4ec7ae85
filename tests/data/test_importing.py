"""Published archives, packed or not, become ROOT/<year>/{img,gt}."""

import shutil
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drmamba.data import importing
from drmamba.data.check import check
from drmamba.data.importing import import_pairs
from drmamba.errors import DataError
from drmamba.images import read_ink


def picture(path: Path, truth: bool, seed: int = 0, grey: bool = False) -> Path:
    rng = np.random.default_rng(seed)
    ink = rng.random((20, 30)) < 0.2
    values = np.where(ink, 0, 255) if truth else np.where(ink, 50, 200) + rng.integers(0, 9, ink.shape)
    if grey:
        values = np.where((values == 0) & (rng.random(ink.shape) < 0.5), 90, values)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.repeat(values.astype(np.uint8)[..., None], 3, 2)).save(path)
    return path


def packed(archive: Path, folder: Path, names: dict[str, bool]) -> Path:
    """A ZIP file with one picture (or ground truth) for each name."""
    with zipfile.ZipFile(archive, "w") as pack:
        for number, (name, truth) in enumerate(names.items()):
            pack.write(
                picture(folder / f"{number}{Path(name).suffix}", truth, seed=int(Path(name).stem[0])), name
            )
    return archive


def test_the_zip_files_of_2018_and_2019(tmp_path: Path) -> None:
    source = tmp_path / "downloads"
    source.mkdir()
    packed(source / "dibco2018_Dataset.zip", tmp_path / "a", {"dataset/1.bmp": False, "dataset/2.bmp": False})
    packed(source / "dibco2018-GT.zip", tmp_path / "b", {"gt/1_gt.bmp": True, "gt/2_gt.bmp": True})
    packed(source / "dibco2019_dataset_trackA.zip", tmp_path / "c", {"Dataset/3.bmp": False})
    packed(source / "dibco2019_gt_trackA.zip", tmp_path / "d", {"GT/3.bmp": True})
    done = import_pairs([source], tmp_path / "root")
    assert [pair.label for pair in done.written] == ["2018/1", "2018/2", "2019/3"]
    assert not done.remarks
    findings = check(tmp_path / "root")
    assert findings.years == {"2018": 2, "2019": 1}
    assert not findings.problems
    with Image.open(tmp_path / "root/2018/gt/1.png") as truth:
        assert truth.mode == "1"
    original = zipfile.ZipFile(source / "dibco2018_Dataset.zip").read("dataset/1.bmp")
    assert (tmp_path / "root/2018/img/1.bmp").read_bytes() == original


def test_a_second_import_keeps_what_is_there(tmp_path: Path) -> None:
    picture(tmp_path / "DIBCO11-handwritten/HW1.png", False)
    picture(tmp_path / "DIBCO11-handwritten/HW1_GT.tiff", True)
    first = import_pairs([tmp_path / "DIBCO11-handwritten"], tmp_path / "root")
    second = import_pairs([tmp_path / "DIBCO11-handwritten"], tmp_path / "root")
    third = import_pairs([tmp_path / "DIBCO11-handwritten"], tmp_path / "root", overwrite=True)
    assert [len(first.written), len(second.written), len(second.kept), len(third.written)] == [1, 0, 1, 1]


def test_archives_without_a_year_take_their_folder_s_or_the_one_given(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    packed(folder / "original_images.zip", tmp_path / "a", {"7.png": False})
    packed(folder / "GT.zip", tmp_path / "b", {"7_estGT.png": True})
    with pytest.raises(DataError, match="--year"):
        import_pairs([folder], tmp_path / "root")
    assert import_pairs([folder], tmp_path / "root", year="2014").written[0].label == "2014/7"
    shutil.move(folder, tmp_path / "HDIBCO2014")
    archives = sorted((tmp_path / "HDIBCO2014").iterdir())
    assert import_pairs(archives, tmp_path / "root2").written[0].label == "2014/7"


def test_grey_in_a_ground_truth_is_reported_and_made_binary(tmp_path: Path) -> None:
    picture(tmp_path / "2012/img/1.png", False)
    picture(tmp_path / "2012/gt/1.png", True, grey=True)
    done = import_pairs([tmp_path / "2012"], tmp_path / "root")
    assert "grey" in done.remarks[0]
    picture(tmp_path / "sharp.png", True)
    assert (read_ink(tmp_path / "root/2012/gt/1.png") == read_ink(tmp_path / "sharp.png")).all()


def test_a_zip_file_cannot_write_outside_its_folder(tmp_path: Path) -> None:
    archive = tmp_path / "dibco2018-GT.zip"
    with zipfile.ZipFile(archive, "w") as pack:
        pack.write(picture(tmp_path / "x.bmp", True), "../../evil/1_gt.bmp")
        pack.write(tmp_path / "x.bmp", "/absolute/2_gt.bmp")
    importing.unpack(archive, tmp_path / "deep/er/out")
    assert sorted(p.name for p in (tmp_path / "deep/er/out").rglob("*.bmp")) == ["1_gt.bmp", "2_gt.bmp"]
    assert not list(tmp_path.glob("evil*")) + list(tmp_path.glob("deep/evil*"))


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "LARGEST_FILE", 100)
    archive = packed(tmp_path / "dibco2018-GT.zip", tmp_path / "a", {"gt/1_gt.bmp": True})
    with pytest.raises(DataError, match="larger than"):
        importing.unpack(archive, tmp_path / "out")


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "dibco2018-GT.zip").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(DataError, match=r"dibco2018-GT\.zip cannot be unpacked"):
        import_pairs([tmp_path], tmp_path / "root")


def test_a_rar_file_without_a_program_says_which_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "H_DIBCO2010_GT.rar").write_bytes(b"Rar!")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(DataError, match="bsdtar"):
        import_pairs([tmp_path], tmp_path / "root")


@pytest.mark.skipif(
    not any(map(shutil.which, ("bsdtar", "7zz", "7z"))), reason="no program that packs 7z here"
)
def test_a_7z_file_is_unpacked(tmp_path: Path) -> None:
    picture(tmp_path / "in/GT/1_gt.bmp", True)
    if shutil.which("bsdtar"):
        pack = ["bsdtar", "-a", "-c", "-f", str(tmp_path / "DIBCO2017_GT.7z"), "GT"]
    else:
        pack = [shutil.which("7zz") or "7z", "a", str(tmp_path / "DIBCO2017_GT.7z"), "GT"]
    if subprocess.run(pack, cwd=tmp_path / "in", capture_output=True, check=False).returncode:
        pytest.skip("this program reads 7z but does not write it")
    importing.unpack(tmp_path / "DIBCO2017_GT.7z", tmp_path / "out")
    assert (tmp_path / "out/GT/1_gt.bmp").is_file()


def test_nothing_found_and_a_missing_source(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no pairs"):
        import_pairs([tmp_path / "empty"], tmp_path / "root")
    with pytest.raises(DataError, match="does not exist"):
        import_pairs([tmp_path / "nowhere"], tmp_path / "root")
