"""The progress of a run shows the per cent of files that are not finished yet."""

from types import SimpleNamespace

from drmamba.cli import progress
from drmamba.cli.progress import Progress
from drmamba.inference.records import PageRecord


def test_one_large_file_has_its_per_cent(monkeypatch, capsys):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    batch = SimpleNamespace(files_in_progress=0.37, megapixels=1.0)
    shown = Progress(1, batch)
    shown.started -= 37.0
    shown.tick()
    assert "0 of 1 files (37 %)" in (words := capsys.readouterr().err)
    assert " 63 s left" in words
    batch.files_in_progress = 0.2  # another thread counts a moment later
    shown.tick()
    assert "(37 %)" in capsys.readouterr().err
    batch.files_in_progress = 0.0
    shown.add(PageRecord(status="done", input="a.png"))
    assert "1 of 1 files (100 %)" in capsys.readouterr().err
    shown.close()
