"""Faults: hostile files and sudden deaths. `pytest --full` runs the full numbers."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from mutated_files import healthy, mutated
from stand_in import save, text_page

from drmamba.cli import group
from drmamba.images import read_ink

FULL = bool(os.environ.get("DRMAMBA_FULL"))
MUTANTS = 2000 if FULL else 120
ROUNDS, PAGES = (30, 50) if FULL else (1, 14)


def test_mutated_files_are_pages_or_errors_of_one_line(tmp_path):
    pytest.importorskip("resource", reason="this system does not say how much memory a child took")
    rng = random.Random(7)
    originals = healthy(tmp_path / "healthy")
    for number in range(MUTANTS):
        data, ending = mutated(originals[number % len(originals)], rng)
        path = tmp_path / "in" / f"{number:04d}-{originals[number % len(originals)].name[0]}{ending}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    limit, started = 1_500_000_000, time.monotonic()
    program = [sys.executable, str(Path(__file__).with_name("hostile_batch.py"))]
    folders = [str(tmp_path / "healthy"), str(tmp_path / "in"), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([*program, *folders, str(limit)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    longest, seen = 0.0, {}
    for record in result["records"]:
        longest = max(longest, record["seconds"])
        seen[record["input"]] = record["status"]
        if record["error"]:
            assert "\n" not in record["error"]
            assert record["input"] in record["error"]
            assert len(record["error"]) < 500
        else:
            page = read_ink(Path(record["output"]))
            assert page.any() or "blank" in record["flags"] or record["megapixels"] > 0
    assert len(seen) == result["jobs"] == MUTANTS
    failed = sum(status == "failed" for status in seen.values())
    assert 0.1 * MUTANTS < failed < 0.9 * MUTANTS
    assert longest < 10
    children = result["largest_child"]
    assert children < limit
    print(f"{MUTANTS} files in {time.monotonic() - started:.0f} s, {failed} errors, longest {longest:.1f} s, "
          f"largest decoder {children / 1e6:.0f} MB")  # fmt: skip
    assert not list((tmp_path / "out").rglob(".*"))


def tree(folder):
    return {p.name: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def arguments(source, out):
    return ["binarize", str(source), "-o", str(out), "--report", str(out / "report.jsonl")]


@pytest.mark.timeout(4000 if FULL else 300)
def test_a_killed_batch_leaves_whole_files_and_resumes_to_the_same_bytes(tmp_path):
    for i in range(PAGES):
        save(tmp_path / f"in/{i:02d}.png", text_page(60 + i, 90, seed=i))
    whole = CliRunner().invoke(group, arguments(tmp_path / "in", tmp_path / "want"))
    assert whole.exit_code == 0, whole.stderr
    want = tree(tmp_path / "want")
    want.pop("report.jsonl")
    assert len(want) == PAGES
    rng, cut_short = random.Random(3), 0
    for number in range(ROUNDS):
        out = tmp_path / f"out-{number}"
        program = subprocess.Popen(
            [sys.executable, "-m", "drmamba", *arguments(tmp_path / "in", out)], stderr=subprocess.DEVNULL
        )
        # The program is killed while it writes pages. Of three full rounds one kills it at any time, mostly while it
        # starts.
        if number % 3 != 2:
            wanted = rng.randrange(PAGES)
            while program.poll() is None and len(list(out.glob("*.png"))) < wanted:
                time.sleep(0.002)
            time.sleep(rng.uniform(0, 0.05))
        else:
            time.sleep(rng.uniform(0, 10))
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
        resumed = CliRunner().invoke(group, arguments(tmp_path / "in", out))
        assert resumed.exit_code == 0, resumed.stderr
        after = tree(out)
        report = after.pop("report.jsonl").decode().splitlines()
        assert after == want  # nothing unfinished is left either
        assert len(report) == PAGES
    if FULL:
        assert cut_short > ROUNDS // 3  # the rounds hit what they aim at
