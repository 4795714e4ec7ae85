"""Every parser that is written by hand answers any bytes with a result or with an error of this package.

Each target takes seconds; `pytest --fuzz-minutes 10 tests/adversarial/test_fuzz.py` shares ten minutes among them.
"""

import contextlib
import functools
import os
import struct
import time
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from made_pictures import tiff, tiled_tiff
from PIL import Image

from drmamba.checkpoint import load, read_header
from drmamba.errors import CheckpointError, ImageError, InputError, MetricError
from drmamba.images import open_pages
from drmamba.images.reading.extra_formats import JXL_CODESTREAM, JXL_CONTAINER, jxl_size
from drmamba.images.reading.strip_rows import DEFLATE, LZW, PACKBITS, StripRows, decoded
from drmamba.inference.records import BEGINNING, BatchReport
from drmamba.metrics.weight_files import read_weights

MINUTES = float(os.environ.get("DRMAMBA_FUZZ_MINUTES", 0))
TARGETS = 10
EXAMPLES = 60


def fuzzed(**strategies):
    """Run a target on a few made-up inputs, or on new ones until its share of the time is over."""

    def decorate(target):
        @functools.wraps(target)
        def run(tmp_path, monkeypatch):
            monkeypatch.setattr("drmamba.images.reading.bands.BAND_PIXELS", 400)
            monkeypatch.setattr("drmamba.images.reading.banded_jpeg.BAND_PIXELS", 400)
            end, number = time.monotonic() + MINUTES * 60 / TARGETS, 0

            def one(**values):
                target(tmp_path, **values)

            while number == 0 or time.monotonic() < end:
                quiet = settings(
                    max_examples=EXAMPLES,
                    deadline=None,
                    database=None,
                    suppress_health_check=list(HealthCheck),
                )
                seed(number)(quiet(given(**strategies)(one)))()
                number += 1

        del run.__wrapped__  # pytest must see the arguments of `run`.
        return pytest.mark.timeout(300 + MINUTES * 60)(run)

    return decorate


@contextlib.contextmanager
def nothing_but(kind, name):
    """Let a block succeed, or fail with one kind of error whose message holds a name."""
    message = name
    try:
        yield
    except kind as error:
        message = str(error)
    assert name in message


LINE = b'{"status": "done", "input": "a", "page": 1}'
ENDLESS = b'{"status": "done", "input": "a", "page": 1e999}'
DEEP = b"[" * 100_000
HEADER = st.dictionaries(
    st.sampled_from(["format", "config", "provenance", "digest"]),
    st.one_of(st.text(max_size=40), st.just(DEEP.decode())),
)
CHANGES = st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)), max_size=12)


def changed(data, changes, cut):
    """Return the data with some bytes replaced, and without its end."""
    found = bytearray(data)
    for place, value in changes:
        found[place % len(found)] = value
    return bytes(found[: max(1, len(found) * cut // 100)])


def read_in_bands(path, data):
    """Decode a file in bands; whatever it holds, the answer is a page or an ImageError."""
    path.write_bytes(data)
    with nothing_but(ImageError, str(path)):
        for page in open_pages(path, memory=0):
            if page.height * page.width < 200_000:
                assert page.read().shape == (page.height, page.width, 3)


def picture():
    return np.random.default_rng(2).integers(0, 256, (40, 50, 3)).astype(np.uint8)


@fuzzed(changes=CHANGES, cut=st.integers(1, 100), repaired=st.booleans())
def test_png_bands(tmp_path, changes, cut, repaired):
    Image.fromarray(picture()).save(tmp_path / "page.png")
    data = changed((tmp_path / "page.png").read_bytes(), changes, cut)
    if repaired:  # Filters and lengths are reached only if the checksums are right.
        rows = changed(np.insert(picture().reshape(40, 150), 0, 4, axis=1).tobytes(), changes, cut)
        body = zlib.compress(rows)
        head = struct.pack(">IIBBBBB", 50, 40, 8, 2, 0, 0, 0)
        data = b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(part)) + kind + part + struct.pack(">I", zlib.crc32(kind + part))
            for kind, part in ((b"IHDR", head), (b"IDAT", body), (b"IEND", b""))
        )
    read_in_bands(tmp_path / "page.png", data)


@fuzzed(changes=CHANGES, cut=st.integers(1, 100), kind=st.integers(0, 3))
def test_tiff_directories(tmp_path, changes, cut, kind):
    data = [
        tiff(picture()[:, :, 0], 1, 8),
        tiled_tiff(picture(), 16, 1, 8),
        tiled_tiff(picture(), 64, 2, 8),
        tiled_tiff(picture(), 64, 1, 1),
    ][kind]
    # The directory stands at the end, so that is where most changes go.
    read_in_bands(
        tmp_path / "page.tif", changed(data[::-1], changes, 100)[::-1][: max(1, len(data) * cut // 100)]
    )


@fuzzed(
    changes=CHANGES, cut=st.integers(1, 100), compression=st.sampled_from(["tiff_lzw", "packbits", "jpeg"])
)
def test_strips(tmp_path, changes, cut, compression):
    Image.fromarray(picture()).save(tmp_path / "page.tif", compression=compression, strip_size=10**6)
    read_in_bands(tmp_path / "page.tif", changed((tmp_path / "page.tif").read_bytes(), changes, cut))


@fuzzed(changes=CHANGES, cut=st.integers(1, 100), grey=st.booleans())
def test_jpeg_bands(tmp_path, changes, cut, grey):
    Image.fromarray(picture()[:, :, 0] if grey else picture()).save(tmp_path / "page.jpg")
    read_in_bands(tmp_path / "page.jpg", changed((tmp_path / "page.jpg").read_bytes(), changes, cut))


@fuzzed(
    boxes=st.lists(
        st.tuples(
            st.one_of(st.just(1), st.integers(0, 40), st.integers(0, 2**32 - 1)),  # 1: another length follows
            st.sampled_from([b"ftyp", b"jxlc", b"jxlp"]),
            st.one_of(
                st.just(b"\xff" * 9),
                st.binary(max_size=30),
                st.binary(max_size=9).map(lambda end: JXL_CODESTREAM + end),
            ),
        ),
        max_size=5,
    ),
    boxed=st.booleans(),
)
def test_boxes_of_jpeg_xl(tmp_path, boxes, boxed):
    body = b"".join(struct.pack(">I4s", length, kind) + data for length, kind, data in boxes)
    path = tmp_path / "page.jxl"
    path.write_bytes((JXL_CONTAINER if boxed else JXL_CODESTREAM) + body)
    with nothing_but(ImageError, str(path)):
        assert min(jxl_size(path)) >= 1


@fuzzed(
    data=st.binary(max_size=3000),
    compression=st.sampled_from([LZW, PACKBITS, DEFLATE]),
    pieces=st.integers(1, 50),
)
def test_codings(tmp_path, data, compression, pieces):
    """The result does not depend on how the data is cut, and rows are complete or an error."""
    data = b"\x80" + data if compression == LZW else data
    results = []
    for size in (len(data) + 1, pieces):
        try:
            cut = (data[i : i + size] for i in range(0, len(data), size))
            results.append(b"".join(decoded(compression, cut)))
        except ImageError:
            results.append(None)
    assert results[0] == results[1]
    (tmp_path / "strip").write_bytes(data)
    rows = StripRows(tmp_path / "strip", [(0, len(data))], compression, 7, 100)
    try:
        assert len(rows.rows(3, 9)) == 42
    except ImageError:
        assert results[0] is None or len(results[0]) < 63


@fuzzed(changes=CHANGES, cut=st.integers(1, 100), metadata=HEADER)
def test_weights_of_networks(tmp_path, changes, cut, metadata):
    from safetensors.numpy import save

    stated = {"format": "drmamba-1", "config": "{}", "provenance": "{}"} | metadata
    data = save({"encoder.weight": np.ones((3, 2), np.float32)}, stated)
    data = len(DEEP).to_bytes(8, "little") + DEEP if cut == 1 else changed(data, changes, cut)
    (tmp_path / "model.safetensors").write_bytes(data)
    for read in (read_header, load):
        with nothing_but(CheckpointError, "model.safetensors"):
            read(tmp_path / "model.safetensors")


@fuzzed(recall=st.binary(max_size=200), precision=st.binary(max_size=200), packed=st.booleans())
def test_weight_maps(tmp_path, recall, precision, packed):
    for name, data in (("R", recall), ("P", precision)):
        (tmp_path / f"page_{name}Weights.dat{'.gz' if packed else ''}").write_bytes(data)
    with nothing_but(MetricError, "page_"):
        read_weights(tmp_path, "page", np.eye(3, dtype=bool))


@fuzzed(lines=st.lists(st.one_of(st.binary(max_size=60), st.sampled_from([LINE, ENDLESS, DEEP])), max_size=8))
def test_reports(tmp_path, lines):
    path = tmp_path / "report.jsonl"
    path.write_bytes(BEGINNING + b"\n".join(lines))
    with nothing_but(InputError, "report.jsonl"):
        BatchReport(path).close()


FORM = (
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\nDATA'
    b'\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="b.png"\r\n\r\nMORE\r\n--x--\r\n'
)


@fuzzed(changes=CHANGES, cut=st.integers(1, 100), piece=st.integers(1, 200), kind=st.binary(max_size=20))
def test_forms(tmp_path, changes, cut, piece, kind):
    pytest.importorskip("fastapi", reason="the service needs the extra web")
    from drmamba.config import ServiceConfig
    from drmamba.service.problems import Problem
    from drmamba.service.upload import Form

    folder = tmp_path / os.urandom(8).hex()
    folder.mkdir()
    for content_type in ("multipart/form-data; boundary=x", kind.decode("latin-1")):
        with nothing_but(Problem, ""):
            form = Form(folder, ServiceConfig(max_files=3), content_type)
            data = changed(FORM, changes, cut)
            with contextlib.closing(form):
                for start in range(0, len(data), piece):
                    form.write(data[start : start + piece])
                form.finish()
            assert all(file.path.parent == folder and "/" not in file.name for file in form.files)
    assert len(list(folder.iterdir())) <= 4
