"""A small batch as `drmamba binarize --report` leaves it: made scans, their results, and the report."""

import json

import numpy as np
from PIL import Image, ImageDraw

from drmamba.images import write_ink


def made_page(height=300, width=220, seed=0):
    """Return a grey scan with dark strokes, and its ink."""
    rng = np.random.default_rng(seed)
    image = Image.new("L", (width, height), 210)
    draw = ImageDraw.Draw(image)
    for top in range(20, height - 20, 18):
        left = 15
        while left < width - 30:
            long = int(rng.integers(6, 28))
            draw.rectangle([left, top, left + long, top + 7], fill=50)
            left += long + 6
    grey = np.asarray(image).astype(float)
    return np.clip(grey + rng.normal(0, 9, grey.shape), 0, 255).astype(np.uint8), grey < 128


def made_batch(folder, count=4):
    """Write `scans`, `out` and `out/report.jsonl` into a folder and return the report."""
    (folder / "scans").mkdir(parents=True)
    lines = []
    for number in range(count):
        scan, ink = made_page(seed=number)
        name = f"page {number}.jpg" if number else "tüte #1 100%.jpg"
        Image.fromarray(scan).save(folder / "scans" / name)
        output = f"out/{name[:-4]}.png"
        write_ink(folder / output, ink)
        flags = ["uncertain"] if number == 1 else ["rescaled"] if number == 2 else []
        boxes = (
            {"lost_content": [[40, 50, 80, 70]], "kept_dirt": [[100, 200, 140, 220]]} if number == 1 else {}
        )
        values = {"status": "done", "input": f"scans/{name}", "page": 1, "pages": 1, "output": output}
        facts = {"output_sha256": str(number), "settings": {"threshold": 0.6}, "flags": flags, "boxes": boxes}
        lines.append(json.dumps(values | facts | {"ink": 0.2, "uncertain": 0.002 * (count - number)}))
    failed = {"status": "failed", "input": "scans/gone.jpg", "page": 1, "pages": 1, "output": None}
    lines.append(json.dumps(failed | {"error": "scans/gone.jpg is damaged", "flags": []}))
    report = folder / "out" / "report.jsonl"
    report.write_text("\n".join(lines) + "\n")
    return report
