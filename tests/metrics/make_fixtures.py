"""Make the pages in `fixtures/`, with the scores and weight maps that doxapy, an independent program, gives them.

doxapy's maps equal the contest's own files. It offers them from version 0.9.8 on, for Python 3.12 and newer:

    python3.12 -m venv oracle && oracle/bin/pip install "doxapy>=0.9.8" pillow numpy
    oracle/bin/python tests/metrics/make_fixtures.py
"""

import gzip
import json
import platform
from importlib import metadata
from pathlib import Path

import doxapy
import numpy as np
from PIL import Image, ImageDraw, ImageFont

FOLDER = Path(__file__).parent / "fixtures"


def strokes(rng):
    """Lines, rings and letters of several widths, some of them touching the edge."""
    page = Image.new("L", (190, 130), 255)
    draw = ImageDraw.Draw(page)
    for width, y in ((1, 6), (2, 14), (3, 24), (4, 36), (7, 52), (12, 72)):
        draw.line((4, y, 90, y + rng.integers(-4, 5)), fill=0, width=width)
    for radius, width in ((5, 1), (9, 3), (16, 6)):
        x, y = rng.integers(105, 150), rng.integers(20, 100)
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), outline=0, width=width)
    draw.line((120, 129, 189, 60), fill=0, width=5)
    draw.line((0, 100, 60, 129), fill=0, width=3)
    draw.text((70, 100), "Rhodes 1713", fill=0, font=ImageFont.load_default(14))
    return np.asarray(page) < 128


def crumbs(rng):
    """Small blobs, dots, square holes and near misses: what thinning can swallow whole, and narrow gaps."""
    page = rng.random((90, 120)) < 0.02
    for side in range(1, 9):
        page[3 : 3 + side, 3 + 12 * (side - 1) : 3 + 12 * (side - 1) + side] = True
    page[20:40, 5:35] = True
    page[24:27, 10:13] = page[24:25, 20:21] = page[30:35, 24:29] = False
    page[20:40, 38:50] = page[20:40, 53:70] = page[42:60, 38:70] = True
    rows, columns = np.ogrid[:90, :120]
    for _ in range(14):
        y, x, radius = rng.integers(45, 88), rng.integers(4, 116), rng.uniform(1, 5)
        page |= (rows - y) ** 2 + (columns - x) ** 2 <= radius**2
    page[60:90, 0:2] = True
    page[88:90, 60:118] = True
    return page


def clouds(rng):
    """Random shapes at every scale, ink and paper in equal parts."""
    field = np.zeros((100, 110))
    for step in (2, 5, 11, 23):
        coarse = rng.random((100 // step + 2, 110 // step + 2))
        field += np.kron(coarse, np.ones((step, step)))[:100, :110] * step
    return field > np.median(field)


def far(_):
    """A corner whose box is the page: distances beyond 256, where bytes wrap."""
    page = np.zeros((285, 290), bool)
    page[:3] = page[:, :3] = True
    page[180:190, 150:160] = page[180:190, 163:180] = True
    return page


def predictions(truth, rng):
    """Wrong in several ways: thick, thin, noisy, shifted, empty, full."""
    near = np.zeros_like(truth)
    near[1:] |= truth[:-1]
    near[:, 1:] |= truth[:, :-1]
    return {
        "thick": truth | near,
        "thin": truth & near,
        "noisy": truth ^ (rng.random(truth.shape) < 0.03),
        "shifted": np.roll(truth, (2, 1), (0, 1)),
        "empty": np.zeros_like(truth),
        "full": np.ones_like(truth),
    }


def as_bytes(ink):
    return np.where(ink, 0, 255).astype(np.uint8)


def main():
    rng = np.random.default_rng(1713)
    scores = {}
    for name, make in (("strokes", strokes), ("crumbs", crumbs), ("clouds", clouds), ("far", far)):
        truth = make(rng)
        Image.fromarray(as_bytes(truth)).convert("1").save(FOLDER / f"{name}.png")
        precision_w, recall_w = doxapy.generate_pseudo_weights(as_bytes(truth))
        for kind, values in (("R", recall_w), ("P", precision_w)):
            text = "".join(f"{value:.6f}  " for value in np.asarray(values).ravel())
            (FOLDER / f"{name}_{kind}Weights.dat.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        for title, found in predictions(truth, rng).items():
            Image.fromarray(as_bytes(found)).convert("1").save(FOLDER / f"{name}-{title}.png")
            got = doxapy.calculate_performance(as_bytes(truth), as_bytes(found), precision_w, recall_w)
            scores[f"{name}-{title}"] = {
                "fm": got["fm"], "pfm": got["pseudo_fm"], "psnr": got["psnr"], "drd": got["drdm"], "nrm": got["nrm"],
                "precision": got["precision"], "recall": got["recall"],
                "pseudo_precision": got["pseudo_precision"], "pseudo_recall": got["pseudo_recall"],
            }  # fmt: skip
    made = f"doxapy {metadata.version('doxapy')}, Python {platform.python_version()}"
    (FOLDER / "scores.json").write_text(json.dumps({"made_with": made, "scores": scores}, indent=1) + "\n")


if __name__ == "__main__":
    main()
