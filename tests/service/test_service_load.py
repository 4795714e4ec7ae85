"""Many clients at once: every request answered, memory level, as fast as the command line.

DRMAMBA_FULL=1 runs 200 requests of 16 clients with a page of one megapixel and compares the throughput.
"""

import asyncio
import collections
import io
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image
from running_service import running  # noqa: F401  # skips where the extra web is missing

sys.path.insert(0, str(Path(__file__).parents[1] / "inference"))
from stand_in import text_page

httpx = pytest.importorskip("httpx")
FULL = bool(os.environ.get("DRMAMBA_FULL"))
CLIENTS = 16
REQUESTS, SIDE = (200, 1000) if FULL else (32, 160)


@pytest.fixture(scope="module")
def served():
    """A service as people start it: a process of its own."""
    command = [sys.executable, "-m", "drmamba", "serve", "--port", "0", "--no-page"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    lines = iter(process.stderr.readline, "")
    url = next(found[1] for line in lines if (found := re.search(r"serving at (\S+)", line)))
    while httpx.get(f"{url}/readyz").status_code != 200:
        time.sleep(0.1)
    yield url, process
    process.terminate()
    status = process.wait(30)
    process.stderr.close()
    assert status == 0  # a service that was told to stop has done well


def scan(number):
    """A page of its own for every request: nothing could be remembered."""
    buffer = io.BytesIO()
    Image.fromarray(text_page(SIDE, SIDE, seed=number)).save(buffer, "PNG")
    return buffer.getvalue()


def resident(process):
    """Bytes of memory a process holds, its decoders included."""
    total = 0
    for pid in [process.pid, *map(int, children(process.pid))]:
        try:
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue
    return total


def children(pid):
    return " ".join(p.read_text() for p in Path(f"/proc/{pid}/task").glob("*/children")).split()


async def crowd(url, pages):
    """Answers of many clients, each asking for its next page when it has its last."""
    todo, answers = iter(pages), []

    async def client():
        async with httpx.AsyncClient(timeout=600) as line:
            for page in todo:
                answer = await line.post(f"{url}/v1/binarize", files={"file": ("page.png", page)})
                answers.append(answer)

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return answers


@pytest.mark.timeout(3600)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_a_crowd_is_served(served, tmp_path):
    url, process = served
    pages = [scan(number % 20) for number in range(REQUESTS)]
    asyncio.run(crowd(url, pages[: 2 * CLIENTS]))  # every thread and buffer is there after this
    before, started = resident(process), time.perf_counter()
    answers = asyncio.run(crowd(url, pages))
    seconds = time.perf_counter() - started
    count = collections.Counter(answer.status_code for answer in answers)
    assert count[200] + count[429] == REQUESTS
    assert count[200] >= 0.9 * REQUESTS  # sixteen fit into the queue
    for answer in answers[:3]:
        with Image.open(io.BytesIO(answer.content)) as image:
            assert (image.mode, image.size) == ("1", (SIDE, SIDE))
    after = resident(process)
    assert after < before * 1.1 + 30e6
    if FULL:
        for number, page in enumerate(pages):
            (tmp_path / f"{number:03d}.png").write_bytes(page)
        rate = count[200] * SIDE * SIDE / 1e6 / seconds
        command = [sys.executable, "-m", "drmamba", "binarize", str(tmp_path), "-o", str(tmp_path / "out")]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        alone = float(re.findall(r"([\d.]+) MP/s", said)[-1])
        words = f"{rate:.2f} MP/s served, {alone:.2f} MP/s on the command line: {rate / alone:.0%}"
        print(f"{words}; {dict(count)}; {before / 1e6:.0f} MB before, {after / 1e6:.0f} MB after")
        assert rate > 0.9 * alone
