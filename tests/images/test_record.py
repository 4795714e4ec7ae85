"""The record of how a page was made."""

from PIL import Image

from drmamba.images import read_record


def test_a_foreign_file_has_no_record(tmp_path):
    Image.new("L", (3, 3)).save(tmp_path / "page.png")
    (tmp_path / "page.tif").write_bytes(b"nonsense")
    assert read_record(tmp_path / "page.png") == ""
    assert read_record(tmp_path / "page.tif") == ""
    assert read_record(tmp_path / "missing.pdf") == ""
