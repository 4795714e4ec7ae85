"""Which files become which."""

import os
from pathlib import Path

import pytest

from drmamba.errors import InputError
from drmamba.inference.jobs import plan


def touch(*paths):
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def named(jobs, root):
    return {str(job.source.relative_to(root)): str(job.output.relative_to(root)) for job in jobs}


def test_a_tree_is_mirrored(tmp_path):
    touch(
        *(
            tmp_path / "in" / name
            for name in ("a.jpg", "deep/er/b.TIF", "deep/c.pdf", "notes.txt", ".hidden.png")
        )
    )
    assert named(plan([tmp_path / "in"], tmp_path / "out"), tmp_path) == {
        "in/a.jpg": "out/a.png",
        "in/deep/c.pdf": "out/deep/c.png",
        "in/deep/er/b.TIF": "out/deep/er/b.png",
    }


def test_two_trees_keep_their_names(tmp_path):
    touch(tmp_path / "one/a.png", tmp_path / "two/a.png")
    jobs = plan([tmp_path / "one", tmp_path / "two"], tmp_path / "out")
    assert named(jobs, tmp_path) == {"one/a.png": "out/one/a.png", "two/a.png": "out/two/a.png"}


@pytest.mark.parametrize(
    ("wanted", "endings"),
    [("tiff", {".tif"}), ("pdf", {".pdf"}), ("png", {".png"}), ("same", {".png", ".tiff", ".pdf"})],
)
def test_formats(tmp_path, wanted, endings):
    touch(tmp_path / "in/a.jpg", tmp_path / "in/b.tiff", tmp_path / "in/c.pdf")
    assert {job.output.suffix for job in plan([tmp_path / "in"], tmp_path / "out", wanted)} == endings


def test_beside_the_source_names_carry_bin(tmp_path):
    touch(tmp_path / "0001.png", tmp_path / "0002.jpg")
    jobs = plan([tmp_path], None)
    assert named(jobs, tmp_path) == {"0001.png": "0001.bin.png", "0002.jpg": "0002.bin.png"}
    touch(*(job.output for job in jobs), tmp_path / "0001.soft.png")
    assert named(plan([tmp_path], None), tmp_path) == named(jobs, tmp_path)  # results are no sources


def test_names_that_would_meet_keep_their_endings(tmp_path):
    touch(tmp_path / "in/a.jpg", tmp_path / "in/a.tif", tmp_path / "in/b.jpg")
    assert named(plan([tmp_path / "in"], tmp_path / "out"), tmp_path) == {
        "in/a.jpg": "out/a.jpg.png",
        "in/a.tif": "out/a.tif.png",
        "in/b.jpg": "out/b.png",
    }


def test_the_output_folder_is_not_read(tmp_path):
    touch(tmp_path / "a.png", tmp_path / "out/a.png")
    assert named(plan([tmp_path], tmp_path / "out"), tmp_path) == {"a.png": "out/a.png"}


def test_one_file_to_one_name(tmp_path):
    touch(tmp_path / "a.jpg", tmp_path / "b.jpg")
    assert plan([tmp_path / "a.jpg"], tmp_path / "page.tif")[0].output == tmp_path / "page.tif"
    with pytest.raises(InputError, match="names one file"):
        plan([tmp_path / "a.jpg", tmp_path / "b.jpg"], tmp_path / "page.tif")


def test_sources_are_never_overwritten(tmp_path):
    touch(tmp_path / "a.png", tmp_path / "in/b.png")
    (tmp_path / "link").symlink_to(tmp_path / "in")
    for paths, out in [
        ([tmp_path / "a.png"], tmp_path),
        ([tmp_path / "a.png"], tmp_path / "a.png"),
        ([tmp_path / "in"], tmp_path / "link"),
        ([tmp_path / "in/b.png"], tmp_path / "link"),
    ]:
        with pytest.raises(InputError, match=r"would overwrite a source|nothing to do"):
            plan(paths, out)


def test_nothing_to_do_is_an_error(tmp_path):
    touch(tmp_path / "in/notes.txt")
    with pytest.raises(InputError, match="nothing to do"):
        plan([tmp_path / "in"], tmp_path / "out")
    with pytest.raises(InputError, match="no file or folder"):
        plan([tmp_path / "missing"], tmp_path / "out")


def test_the_same_source_twice_is_done_once(tmp_path):
    touch(tmp_path / "a.png")
    assert len(plan([tmp_path / "a.png", tmp_path / "a.png", Path(tmp_path)], tmp_path / "out")) == 1


def test_pages_are_numbered_only_when_there_are_several(tmp_path):
    touch(tmp_path / "book.pdf")
    (job,) = plan([tmp_path / "book.pdf"], tmp_path / "out")
    assert job.page(1, 1).name == "book.png"
    assert job.page(12, 30).name == "book-0012.png"
    assert job.soft(12, 30).name == "book-0012.soft.png"
    (job,) = plan([tmp_path / "book.pdf"], tmp_path / "out", "tiff")
    assert job.page(12, 30).name == "book.tif"


def test_pages_of_a_book_and_files_named_like_them_keep_apart(tmp_path):
    for name in ("book.pdf", "book-0001.jpg", "book-0002.tif", "other-0001.jpg", "book-001.jpg"):
        (tmp_path / "in" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "in" / name).touch()
    jobs = {job.source.name: job for job in plan([tmp_path / "in"], tmp_path / "out")}
    assert jobs["book.pdf"].page(1, 2).name == "book-0001.png"
    assert jobs["book-0001.jpg"].output.name == "book-0001.jpg.png"
    assert jobs["book-0002.tif"].output.name == "book-0002.tif.png"
    assert jobs["other-0001.jpg"].output.name == "other-0001.png"
    assert jobs["book-001.jpg"].output.name == "book-001.png"
    beside = {job.source.name: job for job in plan([tmp_path / "in"], None)}
    assert beside["book-0001.jpg"].output.name == "book-0001.bin.png"


def test_a_place_for_results_is_a_folder_or_one_result(tmp_path):
    (tmp_path / "a.png").touch()
    (tmp_path / "notes").touch()
    assert plan([tmp_path / "a.png"], tmp_path / "OUT.PNG")[0].many_files
    for out in ("clean.jpg", "notes"):
        with pytest.raises(InputError, match=f"{out} is no place for results: give a folder"):
            plan([tmp_path / "a.png"], tmp_path / out)


def test_links_and_closed_folders_are_not_left_out(tmp_path, monkeypatch):
    for name in ("in/open/a.png", "in/letter.bin.png", "in/x.soft.jpg", "elsewhere/b.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "in/second.png").symlink_to(tmp_path / "in/open/a.png")
    (tmp_path / "in/away").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "in/loop").symlink_to(tmp_path / "in")
    (tmp_path / "in/again").symlink_to(tmp_path / "in/open")
    (tmp_path / "in/locked").mkdir()
    scandir = os.scandir

    def guarded(path="."):
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    found = [
        str(job.source.relative_to(tmp_path / "in")) for job in plan([tmp_path / "in"], tmp_path / "out")
    ]
    assert sorted(found) == ["away/b.png", "locked", "open/a.png", "second.png", "x.soft.jpg"]
    with pytest.raises(InputError, match="cannot list the folder"):
        plan([tmp_path / "in/locked"], tmp_path / "out")
