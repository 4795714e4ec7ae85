"""Faults: hostile files and sudden deaths. `pytest --full` runs the full numbers."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "inference"))
from stand_in import binarizer, save, text_page

from drmamba.images import Bitmap, encode, read_ink
from drmamba.inference.batch import Batch
from drmamba.inference.jobs import plan

FULL = bool(os.environ.get("DRMAMBA_FULL"))
MUTANTS = 2000 if FULL else 120
ROUNDS, PAGES = (30, 50) if FULL else (2, 14)


def healthy(folder):
    """Small pages in every format and kind."""
    grey = text_page(90, 120)
    image, colour = Image.fromarray(grey), Image.fromarray(np.stack([grey] * 3, 2))
    folder.mkdir()
    for name, options in {
        "a.jpg": {}, "b.png": {}, "c.tif": {}, "d.jp2": {}, "e.webp": {}, "f.bmp": {},
        "g.tif": {"compression": "tiff_lzw"}, "h.tif": {"compression": "jpeg"}, "i.jpg": {"progressive": True},
        "j.tif": {"compression": "tiff_adobe_deflate"}, "k.webp": {"lossless": True},
    }.items():  # fmt: skip
        colour.save(folder / name, **options)
    image.convert("CMYK").save(folder / "l.tif")
    image.convert("1").save(folder / "m.tif", compression="group4")
    image.quantize(16).save(folder / "n.png")
    Image.fromarray(grey.astype(np.uint16) * 257).save(folder / "o.png")
    colour.convert("RGBA").save(folder / "p.png", dpi=(300, 300))
    bitmap = Bitmap.pack(grey < 128, 300.0)
    (folder / "q.pdf").write_bytes(encode([bitmap, bitmap], ".pdf"))
    (folder / "r.tif").write_bytes(encode([bitmap, bitmap], ".tif"))
    return sorted(folder.iterdir())


def mutated(path, rng):
    """One way in which a file can be wrong, and the ending it pretends to have."""
    data, ending = bytearray(path.read_bytes()), path.suffix
    kind = rng.choice(
        ["bits", "bits", "bytes", "cut", "cut", "ending", "sizes", "zeros", "tail", "empty", "splice"]
    )
    if kind in ("bits", "bytes"):
        for _ in range(rng.choice([1, 3, 20, 200])):
            at = rng.randrange(min(len(data), rng.choice([64, 600, len(data)])))
            data[at] = data[at] ^ (1 << rng.randrange(8)) if kind == "bits" else rng.randrange(256)
    elif kind == "cut":
        del data[rng.randrange(len(data)) :]
    elif kind == "ending":
        ending = rng.choice([".jpg", ".png", ".tif", ".jp2", ".webp", ".bmp", ".pdf"])
    elif kind == "sizes":  # four bytes of the head become a huge number, in either byte order
        at = rng.randrange(min(len(data) - 4, 120))
        huge = rng.choice([2**31 - 1, 2**32 - 1, 65_535, 40_000, 1_000_000])
        data[at : at + 4] = huge.to_bytes(4, rng.choice(["big", "little"]))
    elif kind == "zeros":
        at = rng.randrange(len(data))
        data[at : at + rng.randrange(1, 4000)] = bytes(rng.randrange(1, 4000))
    elif kind == "tail":
        data += rng.randbytes(rng.randrange(1, 5000))
    elif kind == "empty":
        data = bytearray()
    else:
        at = rng.randrange(len(data))
        data[at:at] = data[: rng.randrange(1, 500)]
    return bytes(data), ending


def test_mutated_files_are_pages_or_errors_of_one_line(tmp_path):
    rng = random.Random(7)
    originals = healthy(tmp_path / "healthy")
    for number in range(MUTANTS):
        data, ending = mutated(originals[number % len(originals)], rng)
        path = tmp_path / "in" / f"{number:04d}-{originals[number % len(originals)].name[0]}{ending}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    limit = 1_500_000_000
    with binarizer(max_memory=limit) as dark:
        batch = Batch(dark)
        for record in batch.run(plan([tmp_path / "healthy"], tmp_path / "well")):
            assert record.status == "done", record.error
        jobs = plan([tmp_path / "in"], tmp_path / "out")
        started, longest, seen = time.monotonic(), 0.0, {}
        for record in batch.run(jobs):
            longest = max(longest, record.seconds)
            seen.setdefault(record.input, []).append(record)
            if record.error:
                assert "\n" not in record.error
                assert record.input in record.error
                assert len(record.error) < 500
            else:
                assert read_ink(Path(record.output)).any() or "blank" in record.flags or record.megapixels > 0
    assert len(seen) == len(jobs) == MUTANTS
    failed = sum(records[-1].status == "failed" for records in seen.values())
    assert 0.1 * MUTANTS < failed < 0.9 * MUTANTS
    assert longest < 10
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    assert children < limit
    print(f"{MUTANTS} files in {time.monotonic() - started:.0f} s, {failed} errors, longest {longest:.1f} s, "
          f"largest decoder {children / 1e6:.0f} MB")  # fmt: skip
    assert not list((tmp_path / "out").rglob(".*"))


def tree(folder):
    return {p.name: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def command(source, out):
    arguments = ["binarize", str(source), "-o", str(out), "--report", str(out / "report.jsonl")]
    return [sys.executable, "-m", "drmamba", *arguments]


@pytest.mark.timeout(4000 if FULL else 300)
def test_a_killed_batch_leaves_whole_files_and_resumes_to_the_same_bytes(tmp_path):
    for i in range(PAGES):
        save(tmp_path / f"in/{i:02d}.png", text_page(60 + i, 90, seed=i))
    started = time.monotonic()
    subprocess.run(command(tmp_path / "in", tmp_path / "want"), check=True, capture_output=True)
    seconds = time.monotonic() - started
    want = tree(tmp_path / "want")
    want.pop("report.jsonl")
    assert len(want) == PAGES
    rng, cut_short = random.Random(3), 0
    for number in range(ROUNDS):
        out = tmp_path / f"out-{number}"
        program = subprocess.Popen(command(tmp_path / "in", out), stderr=subprocess.DEVNULL)
        # Most of the time goes into starting up: two of three rounds aim at the part where pages are written.
        if number % 3:
            wanted = rng.randrange(PAGES)
            while program.poll() is None and len(list(out.glob("*.png"))) < wanted:
                time.sleep(0.002)
            time.sleep(rng.uniform(0, 0.05))
        else:
            time.sleep(seconds * rng.uniform(0.0, 1.0))
        program.send_signal(signal.SIGKILL)
        program.wait()
        left = (
            {name: data for name, data in tree(out).items() if not name.startswith(".")}
            if out.exists()
            else {}
        )
        left.pop("report.jsonl", None)
        cut_short += 0 < len(left) < PAGES
        assert all(want[name] == data for name, data in left.items())  # whole, and right
        resumed = subprocess.run(command(tmp_path / "in", out), capture_output=True, text=True, check=False)
        assert resumed.returncode == 0, resumed.stderr
        after = tree(out)
        report = after.pop("report.jsonl").decode().splitlines()
        assert after == want  # nothing unfinished is left either
        assert len(report) == PAGES
    if FULL:
        assert cut_short > ROUNDS // 3  # the rounds hit what they aim at
