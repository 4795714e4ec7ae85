"""One file to one file: what is injected is used, errors are raised or recorded, and old results are recognised."""

import json

import pytest
from PIL import Image, PngImagePlugin
from stand_in import binarizer, save, text_page

from drmamba.config import InferenceConfig
from drmamba.errors import ImageError, MemoryLimitError
from drmamba.images import read_record
from drmamba.images.reading.decoder_process import DecoderProcess
from drmamba.inference.conversion import ConversionOptions, FileConversion
from drmamba.inference.jobs import FileJob
from drmamba.inference.memory import MemoryLedger


@pytest.fixture(scope="module")
def dark():
    with binarizer() as made:
        yield made


@pytest.fixture(scope="module")
def reader():
    with DecoderProcess(500_000_000) as made:
        yield made


@pytest.fixture
def job(tmp_path):
    return FileJob(save(tmp_path / "in/page.png", text_page()), tmp_path / "out/page.png")


def test_a_file_is_converted_and_then_skipped(dark, reader, job):
    conversion = FileConversion(dark)
    (made,) = conversion.records(job, reader)
    (again,) = conversion.records(job, reader)
    assert (made.status, again.status) == ("done", "skipped")
    assert made.output_sha256 == again.output_sha256
    assert made.settings == again.settings == conversion.origin(job).settings


def test_what_is_wrong_is_raised_by_convert_and_recorded_by_records(dark, reader, tmp_path):
    (tmp_path / "bad.jpg").write_bytes(b"\xff\xd8\xff nothing")
    job = FileJob(tmp_path / "bad.jpg", tmp_path / "bad.png")
    conversion = FileConversion(dark, ConversionOptions(remedy=lambda _: "try another file"))
    with pytest.raises(ImageError):
        list(conversion.convert(job, reader))
    (record,) = conversion.records(job, reader)
    assert record.status == "failed"
    assert record.error.endswith("; try another file")


def test_ledger_estimate_and_check_are_those_that_were_injected(dark, reader, job):
    ledger, held, checks = MemoryLedger(400_000_000), [], []
    hold = ledger.hold
    ledger.hold = lambda size, path: (held.append(size), hold(size, path))[1]
    conversion = FileConversion(
        dark, ledger=ledger, estimate=lambda _: 1234, check=lambda: checks.append(None)
    )
    list(conversion.convert(job, reader))
    assert held == [1234 + 3 * 150 * 200]  # the page and its cache
    assert checks

    def refuse(page):
        raise MemoryLimitError(f"{page.width} x {page.height}", 2, 1)

    with pytest.raises(MemoryLimitError, match="200 x 150"):
        list(FileConversion(dark, ledger=ledger, estimate=refuse).convert(job, reader))


def test_no_further_page_is_begun_once_it_is_stopped(dark, reader, tmp_path):
    pages = [Image.fromarray(text_page(90, 60, seed=i)) for i in range(3)]
    pages[0].save(tmp_path / "book.tif", save_all=True, append_images=pages[1:])
    job = FileJob(tmp_path / "book.tif", tmp_path / "book.png")
    records = list(FileConversion(dark).records(job, reader, lambda: True))
    assert [record.page for record in records] == [1]


def test_a_result_whose_record_has_the_former_names_of_settings_is_recognised(dark, reader, job):
    conversion = FileConversion(dark)
    list(conversion.records(job, reader))
    record = json.loads(read_record(job.output))
    names = {"auto_rotate": "turn", "add_noise": "grain", "keep_bilevel": "as_is"}
    assert names.keys() <= record["settings"].keys()
    record["settings"] = {names.get(name, name): value for name, value in record["settings"].items()}
    with Image.open(job.output) as image:
        info = PngImagePlugin.PngInfo()
        (field,) = [name for name, text in image.text.items() if text == read_record(job.output)]
        info.add_itxt(field, json.dumps(record))
        image.load()
        image.save(job.output, pnginfo=info)
    (again,) = conversion.records(job, reader)
    assert again.status == "skipped"


def test_former_names_of_settings_are_accepted():
    old = InferenceConfig.from_dict({"turn": False, "grain": False, "as_is": False})
    assert old == InferenceConfig(auto_rotate=False, add_noise=False, keep_bilevel=False)
