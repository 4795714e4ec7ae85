"""Batches over stores: the local engine's bytes, whole objects only, the same skip and resume."""

import contextlib
import json
from dataclasses import replace

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'drmamba[ray]'")

from object_store import ObjectStore
from stand_in import binarizer, save, text_page

from drmamba.errors import FileError, InputError
from drmamba.images import Bitmap, encode
from drmamba.inference.batch import Batch, BatchOptions
from drmamba.inference.conversion import FileConversion
from drmamba.inference.jobs import Shard, plan
from drmamba.scale.store_conversion import StoreConversion
from drmamba.scale.stores import FileStore, _shown, plan_stores


@pytest.fixture(scope="module")
def dark():
    with binarizer() as made:
        yield made


@pytest.fixture
def sources(tmp_path):
    for i in range(3):
        save(tmp_path / f"in/sub/{i}.png", text_page(seed=i))
    pages = [Bitmap.pack(text_page(seed=i) < 128, 300.0) for i in range(2)]
    (tmp_path / "in/book.tif").write_bytes(encode(pages, ".tif"))
    (tmp_path / "in/bad.jpg").write_bytes(b"\xff\xd8\xff nothing")
    return tmp_path / "in"


@pytest.fixture(params=["s3", "file"])
def place(request, sources, tmp_path):
    """(URI of the sources, URI of the outputs, the outputs' names and bytes)."""
    if request.param == "file":
        out = tmp_path / "there"
        yield sources.as_uri(), out.as_uri(), lambda: tree(out)
        return
    store = ObjectStore()
    for path in sources.rglob("*.*"):
        store.objects[f"bucket/scans/{path.relative_to(sources).as_posix()}"] = path.read_bytes()
    start = "bucket/out/"
    yield (
        store.uri("bucket/scans"),
        store.uri("bucket/out"),
        lambda: {k.removeprefix(start): v for k, v in store.objects.items() if k.startswith(start)},
    )
    store.close()


def tree(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def store_batch(made, stores, **options):
    options = BatchOptions(**options)
    return Batch(made, options, StoreConversion(FileConversion(made, options), *stores))


def run(made, source, out, **options):
    jobs, stores = plan_stores(source, out)
    return list(store_batch(made, stores, **options).run(jobs))


def lines(records, source, out):
    """Reports' lines with neither clock nor places."""
    found = []
    for record in records:
        text = replace(record, seconds=0).line()
        values = json.loads(text.replace(f"{source}/", "").replace(f"{out}/", ""))
        values["error"] = values["error"] and values["error"].rpartition("bad.jpg")[2]
        found.append(json.dumps(values, sort_keys=True))
    return sorted(found)


def test_the_bytes_and_lines_of_plain_folders(dark, sources, place, tmp_path):
    source, out, there = place
    want = list(Batch(dark, BatchOptions(soft=True)).run(plan([sources], tmp_path / "local")))
    found = run(dark, source, out, soft=True)
    assert there() == tree(tmp_path / "local")
    shown = [FileStore(uri).shown for uri in (source, out)]
    assert "secret" not in "".join(shown)
    assert lines(found, *shown) == lines(want, sources, tmp_path / "local")
    (bad,) = [r for r in found if r.status == "failed"]
    assert bad.error.startswith(f"{shown[0]}/bad.jpg")  # not its temporary name


def test_what_is_there_is_skipped_and_what_is_missing_made(dark, place):
    source, out, there = place
    first = run(dark, source, out)
    before = there()
    again = run(dark, source, out)
    assert sorted(r.status for r in again) == ["failed"] + ["skipped"] * 5
    assert {r.output_sha256 for r in again} == {r.output_sha256 for r in first}
    assert there() == before
    with binarizer(replace(dark.config, threshold=0.4)) as other:
        records = run(other, source, out)
        assert {r.status for r in records} == {"failed"}
        assert any(
            "made from another source, by another model or with other settings; use --overwrite" in r.error
            for r in records
        )
        assert there() == before
        assert {r.status for r in run(other, source, out, overwrite=True)} == {"failed", "done"}


class Torn:
    """A file system whose connection breaks in the middle of every upload."""

    def __init__(self, files):
        self.files = files

    def __getattr__(self, name):
        return getattr(self.files, name)

    @contextlib.contextmanager
    def open_output_stream(self, path):
        with self.files.open_output_stream(path) as stream:
            stream.write(b"x" * 20)
            raise OSError("the line is dead")
            yield


def test_an_upload_that_breaks_off_leaves_nothing(dark, sources, tmp_path):
    jobs, stores = plan_stores((sources / "sub").as_uri(), (tmp_path / "there").as_uri())
    batch = store_batch(dark, stores)
    batch.conversion.target.files = Torn(batch.conversion.target.files)
    records = list(batch.run(jobs))
    assert {r.status for r in records} == {"failed"}
    assert all("cannot write" in r.error and "the line is dead" in r.error for r in records)
    assert not tree(tmp_path / "there")


def test_a_page_that_cannot_be_read_back_makes_no_short_object(place, tmp_path):
    _, out, there = place
    with pytest.raises(FileError, match="cannot write"):
        FileStore(out).put(tmp_path / "gone.png", "a.png")
    assert not there()


def test_whatever_a_driver_raises_costs_one_file(dark, sources, tmp_path, monkeypatch):
    fetch = FileStore.fetch

    def broken(self, path, to):
        if path == "sub/1.png":
            raise RuntimeError("of the driver's own kind")
        return fetch(self, path, to)

    monkeypatch.setattr(FileStore, "fetch", broken)
    records = {r.input: r for r in run(dark, sources.as_uri(), (tmp_path / "there").as_uri())}
    assert "sub/1.png: of the driver's own kind" in records["sub/1.png"].error
    assert {records[f"sub/{i}.png"].status for i in (0, 2)} == {"done"}


def test_a_second_name_of_the_sources_is_no_place_for_results(sources, tmp_path):
    (tmp_path / "link").symlink_to(sources)
    for out in (tmp_path / "link", f"{sources}/../in", f"{sources}//"):
        with pytest.raises(InputError, match="would overwrite a source"):
            plan_stores(sources.as_uri(), str(out))
    jobs, _ = plan_stores(sources.as_uri(), str(tmp_path / "link" / "sub"))
    assert [job.source.name for job in jobs] == ["bad.jpg", "book.tif"]  # what is there counts as results


def test_what_is_shown_of_a_uri():
    assert _shown("s3://key:secret@bucket/scans/?region=eu") == "s3://bucket/scans"
    assert (
        _shown("abfs://scans:key@acct.dfs.core.windows.net/2020")
        == "abfs://scans@acct.dfs.core.windows.net/2020"
    )
    with pytest.raises(InputError) as caught:
        FileStore("gopher://key:secret@host/path")
    assert "secret" not in str(caught.value)


def test_planning_over_stores(place):
    source, out, _ = place
    jobs, _ = plan_stores(source, out)
    assert [str(job.source) for job in jobs] == ["bad.jpg", "book.tif", "sub/0.png", "sub/1.png", "sub/2.png"]
    assert str(jobs[2].output) == "sub/0.png"
    parts = [plan_stores(source, out, shard=Shard(i, 2))[0] for i in (1, 2)]
    assert sorted(map(str, parts[0] + parts[1])) == sorted(map(str, jobs))
    with pytest.raises(InputError, match="would overwrite a source"):
        plan_stores(source, source)


def test_stores_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot list"):
        plan_stores((tmp_path / "nothing").as_uri(), (tmp_path / "out").as_uri())
    with pytest.raises(InputError, match="there is no store for gopher://"):
        FileStore("gopher://host/path")
