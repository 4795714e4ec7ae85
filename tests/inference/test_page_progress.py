"""The share of a file that is done grows window by window and is gone when the file is."""

from pathlib import Path

import numpy as np
from stand_in import binarizer, save, text_page

from drmamba.config import InferenceConfig, WindowConfig
from drmamba.images import ArraySource
from drmamba.images.reading.decoder_process import DecoderProcess
from drmamba.inference.conversion import FileConversion
from drmamba.inference.jobs import FileJob
from drmamba.inference.page_progress import PageProgress


def test_files_in_progress_are_added_up():
    progress = PageProgress()
    with progress.file(Path("a")), progress.file(Path("b")):
        progress.page(Path("a"), 1, 1)(1, 4)
        progress.page(Path("b"), 3, 4)(5, 10)
        assert progress.files == 0.25 + 2.5 / 4
    assert progress.files == 0


def test_every_window_of_a_page_is_told():
    config = InferenceConfig(
        windows=WindowConfig(window=64, stride=64, fit=False), scale=1.0, auto_rotate=False
    )
    told = []
    with binarizer(config) as plain:
        watching = plain.with_watch(lambda done, windows: told.append((done, windows)))
        found = watching.binarize(ArraySource(text_page(130, 200)))
        assert told == [(number, 12) for number in range(1, 13)]
        assert plain.watch is None
        assert (found.binary == plain.binarize(ArraySource(text_page(130, 200))).binary).all()
        watching.close()  # the threads belong to the first one
        assert plain(np.full((20, 20), 200, np.uint8)).binary.shape == (20, 20)


def test_a_conversion_counts_the_file_it_is_working_on(tmp_path):
    source = save(tmp_path / "a.png", text_page(300, 300))
    shares = []
    with binarizer() as engine, DecoderProcess(500_000_000) as reader:
        conversion = FileConversion(engine)
        page = conversion.progress.page
        conversion.progress.page = lambda *place: (
            lambda watch: (
                lambda done, windows: (watch(done, windows), shares.append(conversion.progress.files))
            )
        )(page(*place))
        (record,) = conversion.records(FileJob(source, tmp_path / "out.png"), reader)
    assert record.status == "done"
    assert shares[-1] == 1.0
    assert conversion.progress.files == 0
