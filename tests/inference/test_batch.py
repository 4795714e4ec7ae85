"""Batches: every page accounted for, resumable, bounded, and the same bytes whatever runs beside."""

import hashlib
import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from stand_in import binarizer, save, text_page

from drmamba.config import InferenceConfig, ReadingConfig
from drmamba.errors import ConfigError, InputError, MemoryLimitError
from drmamba.images import Bitmap, encode, open_pages, read_ink
from drmamba.images.reading.decoder_process import IsolatedPage
from drmamba.inference.batch import Batch, BatchOptions
from drmamba.inference.conversion import FileConversion
from drmamba.inference.jobs import plan
from drmamba.inference.memory import MemoryLedger
from drmamba.inference.records import BatchReport, PageRecord


@pytest.fixture(scope="module")
def dark():
    with binarizer() as made:
        yield made


@pytest.fixture
def sources(tmp_path):
    for i in range(4):
        save(tmp_path / f"in/{i}.png", text_page(seed=i), dpi=(300, 300))
    return tmp_path / "in"


def run(made, source, out, format="png", **options):  # noqa: A002
    return list(Batch(made, BatchOptions(**options)).run(plan([source], out, format)))


def tree(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_every_page_is_done_and_recorded(dark, sources, tmp_path):
    records = run(dark, sources, tmp_path / "out")
    assert {(r.status, r.error) for r in records} == {("done", None)}
    for i in range(4):
        np.testing.assert_array_equal(read_ink(tmp_path / f"out/{i}.png"), text_page(seed=i) < 128)
    (first,) = [r for r in records if r.input.endswith("0.png")]
    assert first.input_sha256 == hashlib.sha256((sources / "0.png").read_bytes()).hexdigest()
    assert first.output_sha256 == hashlib.sha256((tmp_path / "out/0.png").read_bytes()).hexdigest()
    assert first.model_sha256 == "dark"
    assert first.settings["threshold"] == 0.5
    line = json.loads(first.line())
    assert line["megapixels"] == 0.03
    assert line["seconds"] > 0
    assert {"ink", "uncertain", "stroke_width", "scale", "flags", "error"} <= line.keys()
    with Image.open(tmp_path / "out/0.png") as image:
        assert image.info["dpi"] == pytest.approx((300, 300), rel=1e-3)


def test_a_second_run_skips_and_changes_nothing(dark, sources, tmp_path):
    first = run(dark, sources, tmp_path / "out")
    before = tree(tmp_path / "out")
    second = run(dark, sources, tmp_path / "out")
    assert {r.status for r in second} == {"skipped"}
    assert {r.output_sha256 for r in second} == {r.output_sha256 for r in first}
    assert {r.input: r.flags for r in second} == {r.input: r.flags for r in first}
    assert tree(tmp_path / "out") == before
    assert {r.status for r in run(dark, sources, tmp_path / "out", overwrite=True)} == {"done"}
    assert tree(tmp_path / "out") == before


def test_a_result_of_another_source_or_setting_is_not_taken_for_this_one(dark, sources, tmp_path):
    run(dark, sources, tmp_path / "out")
    before = tree(tmp_path / "out")
    save(sources / "0.png", text_page(seed=99))
    (tmp_path / "out/1.png").write_bytes((sources / "1.png").read_bytes())
    by_name = {r.input[-5:]: r for r in run(dark, sources, tmp_path / "out")}
    assert [by_name[f"{i}.png"].status for i in range(4)] == ["failed", "failed", "skipped", "skipped"]
    assert (
        "made from another source, by another model or with other settings; use --overwrite"
        in by_name["0.png"].error
    )
    assert "not made by drmamba" in by_name["1.png"].error
    assert tree(tmp_path / "out")["0.png"] == before["0.png"]
    with binarizer(InferenceConfig(threshold=0.4)) as other:
        assert {r.status for r in run(other, sources, tmp_path / "out")} == {"failed"}


@pytest.mark.parametrize("workers", [1, 3])
def test_any_number_of_workers_writes_the_same_bytes(dark, sources, tmp_path, workers):
    run(dark, sources, tmp_path / "want", soft=True)
    with binarizer(workers=workers) as other:
        run(other, sources, tmp_path / "out", soft=True)
    assert tree(tmp_path / "out") == tree(tmp_path / "want")


def book(path, count=3):
    pages = [text_page(seed=i) < 128 for i in range(count)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode([Bitmap.pack(page, 300.0) for page in pages], path.suffix))
    return pages


@pytest.mark.parametrize("suffix", [".tif", ".pdf"])
def test_many_pages_stay_together_with_same(dark, tmp_path, suffix):
    pages = book(tmp_path / f"in/book{suffix}")
    records = run(dark, tmp_path / "in", tmp_path / "out", "same")
    assert [(r.page, r.pages, r.status) for r in records] == [(1, 3, "done"), (2, 3, "done"), (3, 3, "done")]
    for found, want in zip(open_pages(tmp_path / f"out/book{suffix}"), pages, strict=True):
        np.testing.assert_array_equal(found.read()[:, :, 0] == 0, want)
        assert found.dpi == pytest.approx((300, 300), rel=1e-3)
    again = run(dark, tmp_path / "in", tmp_path / "out", "same")
    assert [(r.page, r.status) for r in again] == [(1, "skipped"), (2, "skipped"), (3, "skipped")]


def test_many_pages_get_a_file_each_as_png(dark, tmp_path):
    pages = book(tmp_path / "in/book.tif")
    run(dark, tmp_path / "in", tmp_path / "out", soft=True)
    names = [f"book-{i:04d}{end}" for i in (1, 2, 3) for end in (".png", ".soft.png")]
    assert sorted(tree(tmp_path / "out")) == names
    for i, want in enumerate(pages, 1):
        np.testing.assert_array_equal(read_ink(tmp_path / f"out/book-{i:04d}.png"), want)
    before = tree(tmp_path / "out")
    (tmp_path / "out/book-0002.png").unlink()
    run(dark, tmp_path / "in", tmp_path / "out", soft=True)
    assert tree(tmp_path / "out") == before


def test_a_lost_soft_page_is_made_again(dark, sources, tmp_path):
    run(dark, sources, tmp_path / "out", soft=True)
    before = tree(tmp_path / "out")
    assert np.asarray(Image.open(tmp_path / "out/0.soft.png")).dtype == np.uint8
    (tmp_path / "out/0.soft.png").unlink()
    records = run(dark, sources, tmp_path / "out", soft=True)
    assert sorted(r.status for r in records) == ["done", "skipped", "skipped", "skipped"]
    assert tree(tmp_path / "out") == before


def test_a_bad_file_costs_itself_only(dark, sources, tmp_path):
    (sources / "bad.jpg").write_bytes(b"\xff\xd8\xff nothing")
    (sources / "empty.pdf").write_bytes(b"")
    by_name = {r.input.rsplit("/")[-1]: r for r in run(dark, sources, tmp_path / "out")}
    assert sum(r.status == "done" for r in by_name.values()) == 4
    for name in ("bad.jpg", "empty.pdf"):
        assert by_name[name].status == "failed"
        assert name in by_name[name].error
        assert "\n" not in by_name[name].error
    assert sorted(tree(tmp_path / "out")) == ["0.png", "1.png", "2.png", "3.png"]


def test_pixels_have_a_limit(dark, sources, tmp_path):
    records = run(dark, sources, tmp_path / "out", reading=ReadingConfig(max_pixels=1000))
    assert all("over the limit of 0" in r.error for r in records)


def test_memory_has_a_limit(dark, tmp_path):
    save(tmp_path / "in/large.jpg", np.full((9000, 9000), 255, np.uint8))
    options = BatchOptions(remedy=lambda error: f"there are {error.limit} bytes")
    batch = Batch(dark, options, FileConversion(dark, options, ledger=MemoryLedger(60_000_000)))
    (record,) = batch.run(plan([tmp_path / "in"], tmp_path / "out"))
    assert record.status == "failed"
    assert "needs about" in record.error
    assert record.error.endswith("; there are 60000000 bytes")
    with (
        binarizer(max_memory=300_000_000) as small,
        pytest.raises(ConfigError, match="--max-memory must be at least"),
    ):
        Batch(small)


def test_a_ledger_makes_pages_wait(tmp_path):
    ledger, order = MemoryLedger(100), []

    def second():
        with ledger.hold(60, tmp_path):
            order.append("second")

    with ledger.hold(60, tmp_path):
        other = threading.Thread(target=second)
        other.start()
        other.join(0.1)
        order.append("first")
    other.join()
    assert order == ["first", "second"]
    with pytest.raises(MemoryLimitError, match="needs about") as caught, ledger.hold(101, tmp_path):
        pass
    assert (caught.value.value, caught.value.limit) == (101, 100)


def test_stop_finishes_the_pages_in_hand(dark, sources, tmp_path):
    for i in range(4, 40):
        save(sources / f"{i}.png", text_page(seed=i))
    batch = Batch(dark)
    records = []
    for record in batch.run(plan([sources], tmp_path / "out")):
        records.append(record)
        batch.stop()
    assert 0 < len(records) < 40
    assert sorted(tree(tmp_path / "out")) == sorted(r.output.rsplit("/")[-1] for r in records)
    rest = run(dark, sources, tmp_path / "out")
    assert sorted(r.status for r in rest) == ["done"] * (40 - len(records)) + ["skipped"] * len(records)


def record(name, status="done", page=1, **more):
    return PageRecord(status=status, input=name, page=page, **more)


def test_a_report_has_one_line_a_page_over_many_runs(tmp_path):
    path = tmp_path / "deep/report.jsonl"
    report = BatchReport(path)
    report.add(record("a", seconds=1.0))
    report.add(record("b", "failed", error="b is bad"))
    report.close()
    with path.open("a") as file:
        file.write('{"status": "done", "input": "c", "pa')  # killed while writing
    report = BatchReport(path)
    report.add(record("a", "skipped"))
    report.add(record("b"))
    report.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["input"], line["status"], line["error"]) for line in lines] == [
        ("a", "done", None),
        ("b", "done", None),
    ]
    assert lines[0]["seconds"] == 1.0


def test_a_report_replaces_no_other_file(tmp_path):
    (tmp_path / "scan.jpg").write_bytes(b"\xff\xd8\xff a scan")
    with pytest.raises(InputError, match=r"scan\.jpg exists and is not a report"):
        BatchReport(tmp_path / "scan.jpg")
    assert (tmp_path / "scan.jpg").read_bytes() == b"\xff\xd8\xff a scan"


def test_a_report_that_cannot_be_written_says_so_at_the_end(tmp_path):
    report = BatchReport(Path("/dev/full"))
    report.add(record("a"))
    report.add(record("b"))
    report.close()
    assert "/dev/full is not whole: No space left on device" in report.lost
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    report = BatchReport(tmp_path / "pipe")
    report.add(record("a"))
    report.close()
    assert report.lost == ""
    assert json.loads(os.read(reader, 10_000))["input"] == "a"
    os.close(reader)


@pytest.fixture
def damaged(tmp_path):
    """A TIFF of four pages whose second has lost its pixels."""
    pages = [Image.fromarray(text_page(90, 60, seed=i)) for i in range(4)]
    path = tmp_path / "in/book.tif"
    path.parent.mkdir()
    pages[0].save(path, save_all=True, append_images=pages[1:], compression="tiff_lzw")
    with Image.open(path) as book:
        book.seek(1)
        (start,), (length,) = book.tag_v2[273][:1], book.tag_v2[279][:1]
    data = bytearray(path.read_bytes())
    data[start : start + length] = b"\xff" * length
    path.write_bytes(data)
    return path


def test_a_damaged_page_costs_itself_only(dark, damaged, tmp_path):
    records = run(dark, damaged, tmp_path / "out")
    assert [(r.page, r.pages, r.status) for r in records] == [
        (1, 4, "done"), (2, 4, "failed"), (3, 4, "done"), (4, 4, "done"),
    ]  # fmt: skip
    assert "book.tif, page 2 of 4: " in records[1].error
    assert sorted(tree(tmp_path / "out")) == ["book-0001.png", "book-0003.png", "book-0004.png"]
    np.testing.assert_array_equal(read_ink(tmp_path / "out/book-0004.png"), text_page(90, 60, seed=3) < 128)
    again = run(dark, damaged, tmp_path / "out")
    assert [r.status for r in again] == ["skipped", "failed", "skipped", "skipped"]
    (whole,) = run(dark, damaged, tmp_path / "tiff", "tiff")
    assert "page 2 of 4" in whole.error
    assert "book.tif is not written without it" in whole.error


def test_a_page_that_kills_the_decoder_costs_itself_only(dark, tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    pages = [Bitmap.pack(text_page(seed=i) < 128, 300.0) for i in range(3)]
    (tmp_path / "in/book.tif").write_bytes(encode(pages, ".tif"))
    decode, seen = IsolatedPage.decode, []

    def deadly(self):
        seen.append(self)
        if len(seen) == 2:
            self.file.decoder.started().kill()
        decode(self)

    monkeypatch.setattr(IsolatedPage, "decode", deadly)
    records = run(dark, tmp_path / "in", tmp_path / "out")
    assert [r.status for r in records] == ["done", "failed", "done"]
    np.testing.assert_array_equal(read_ink(tmp_path / "out/book-0003.png"), text_page(seed=2) < 128)


def test_no_stranger_is_replaced_without_being_asked(dark, tmp_path):
    (tmp_path / "in").mkdir()
    pages = [Bitmap.pack(text_page(seed=i) < 128, 300.0) for i in range(2)]
    (tmp_path / "in/book.tif").write_bytes(encode(pages, ".tif"))
    save(tmp_path / "in/a.png", text_page())
    strangers = {"book-0002.png": b"mine", "a.soft.png": b"mine too"}
    for name, data in strangers.items():
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out" / name).write_bytes(data)
    records = run(dark, tmp_path / "in", tmp_path / "out", soft=True)
    assert sorted(r.status for r in records) == ["done", "failed", "failed"]
    assert all("exists and was not made by drmamba; use --overwrite" in r.error for r in records if r.error)
    assert {name: (tmp_path / "out" / name).read_bytes() for name in strangers} == strangers
    assert {r.status for r in run(dark, tmp_path / "in", tmp_path / "out", soft=True, overwrite=True)} == {
        "done"
    }
