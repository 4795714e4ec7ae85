"""The OCRmyPDF plugin, run for real: tesseract reads, ghostscript writes."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pikepdf
import pytest
from PIL import Image, ImageDraw, ImageFont

from drmamba import checkpoint
from drmamba.errors import install_command
from drmamba.images import Bitmap, write_bitmap
from drmamba.inference.quality import Quality

ocrmypdf = pytest.importorskip("ocrmypdf", reason='no OCRmyPDF here: pip install "drmamba[ocrmypdf]"')

from drmamba.integrations import ocrmypdf as plugin  # noqa: E402

PLUGIN = "drmamba.integrations.ocrmypdf"
ROOT = Path(__file__).parents[2]
TEXT = "Harbour letter seven"
pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of OCRmyPDF and what it stands on
    pytest.mark.skipif(
        not all(map(shutil.which, ("tesseract", "gs"))), reason="needs tesseract and ghostscript"
    ),
]

specification = importlib.util.spec_from_file_location("ocr_benchmark", ROOT / "benchmarks" / "ocr.py")
ocr = importlib.util.module_from_spec(specification)
sys.path.append(str(ROOT / "benchmarks"))  # at the end: files there have names such as onnx.py
try:
    specification.loader.exec_module(ocr)  # its pages of known text, and its count of errors
finally:
    sys.path.remove(str(ROOT / "benchmarks"))


def grey_page():
    """One line, dark grey on light grey."""
    page = Image.new("L", (700, 120), 200)
    ImageDraw.Draw(page).text((40, 35), TEXT, font=ImageFont.load_default(44), fill=60)
    return np.asarray(page)


def degraded(number, strength, lines=6):
    """A page as the benchmark makes them, and its text."""
    rng = np.random.default_rng(number)
    text = ocr.make_text(rng, lines=lines, width=40)
    verso = ocr.render(ocr.make_text(rng, lines=lines, width=40), 40)
    return ocr.degrade(ocr.render(text, 40), verso, rng, strength)[:, :1300], " ".join(text)


def as_pdf(path, *pages, dpi=200):
    first, *others = [Image.fromarray(page) for page in pages]
    first.save(path, save_all=True, append_images=others, resolution=dpi)
    return path


def sizes(path):
    with pikepdf.open(path) as pdf:
        assert pdf.check_pdf_syntax() == []  # what `qpdf --check` says
        return [[round(float(side), 1) for side in page.mediabox] for page in pdf.pages]


def pictures(path):
    """(width, height, bits) of every picture in the file."""
    with pikepdf.open(path) as pdf:
        found = [image for page in pdf.pages for image in page.get_images().values()]
        return [(int(i.Width), int(i.Height), int(i.get("/BitsPerComponent", 1))) for i in found]


class Dark:
    """In a Binarizer's place: ink is what is darker than the threshold's share of white."""

    provenance = SimpleNamespace(trained=True)

    def __init__(self):
        self.pages = 0

    def binarize(self, rows, config, keep):
        assert keep == "ink"
        self.pages += 1
        bitmap = Bitmap.pack(rows.read().mean(2) < 255 * config.threshold, rows.dpi)
        quality = Quality(ink=0.1, uncertain=0.0, stroke_width=None, scale=1.0)
        return SimpleNamespace(bitmap=bitmap, quality=quality, save=lambda path: write_bitmap(path, bitmap))


@pytest.fixture
def loaded(monkeypatch):
    """What was loaded: model, lanes, and the stand-in that took its place."""
    found = []

    def from_pretrained(model, engine):
        found.append((model, engine.workers, Dark()))
        return found[-1][2]

    monkeypatch.setattr("drmamba.inference.binarizer.Binarizer.from_pretrained", from_pretrained)
    monkeypatch.setattr(plugin, "_binarizers", {})
    return found


def run(source, target, **options):
    settings = {"plugins": [PLUGIN], "progress_bar": False, "jobs": 2, "output_type": "pdf", "optimize": 0}
    return ocrmypdf.ocr(source, target, **settings | options)


def test_tesseract_reads_the_binarized_page_and_the_scan_is_kept(tmp_path, loaded):
    source = as_pdf(tmp_path / "scan.pdf", grey_page(), grey_page())
    run(source, tmp_path / "out.pdf", sidecar=tmp_path / "out.txt")
    assert sizes(tmp_path / "out.pdf") == sizes(source)
    assert pictures(tmp_path / "out.pdf") == pictures(source)
    assert [text.strip() for text in (tmp_path / "out.txt").read_text().split("\f")][:2] == [TEXT, TEXT]
    ((model, lanes, dark),) = loaded  # once for both pages, as many lanes as jobs
    assert (model, lanes, dark.pages) == ("lite", 2, 2)
    # Where nothing is ink, nothing can be read: it is this page that tesseract sees.
    run(source, tmp_path / "none.pdf", sidecar=tmp_path / "none.txt", drmamba_threshold=0.1, pages="1")
    assert TEXT.split()[0] not in (tmp_path / "none.txt").read_text()


def test_the_binarized_page_is_kept_when_asked(tmp_path, loaded):
    page = grey_page()
    source = as_pdf(tmp_path / "scan.pdf", page)
    run(source, tmp_path / "out.pdf", drmamba_keep=True)
    assert sizes(tmp_path / "out.pdf") == sizes(source)
    height, width = page.shape
    assert pictures(tmp_path / "out.pdf") == [(width, height, 1)]
    assert loaded[0][2].pages == 1  # one result, read and shown
    with pikepdf.open(tmp_path / "out.pdf") as pdf:
        (picture,) = pdf.pages[0].get_images().values()
        shown = np.asarray(pikepdf.PdfImage(picture).as_pil_image().convert("L")) < 128
    assert shown.any()
    assert (shown != (page < 128)).mean() < 0.005  # the scan was a JPEG


def test_pages_with_text_are_left_alone(tmp_path, loaded):  # noqa: ARG001
    as_pdf(tmp_path / "scan.pdf", grey_page())
    run(tmp_path / "scan.pdf", tmp_path / "read.pdf")
    with pikepdf.open(tmp_path / "read.pdf") as both, pikepdf.open(tmp_path / "scan.pdf") as scan:
        both.pages.extend(scan.pages)
        both.save(tmp_path / "both.pdf")
    run(tmp_path / "both.pdf", tmp_path / "out.pdf", drmamba_keep=True, skip_text=True, use_threads=False)
    assert [bits for *_, bits in pictures(tmp_path / "out.pdf")] == [8, 1]
    with pytest.raises(ocrmypdf.PriorOcrFoundError):
        run(tmp_path / "both.pdf", tmp_path / "out.pdf", drmamba_keep=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drmamba_threshold": 2.0}, "threshold"),
        ({"drmamba_keep": True, "redo_ocr": True}, "--redo-ocr"),
        ({"drmamba_model": "no/such/model.safetensors"}, "no/such/model.safetensors"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, options, words):
    source = as_pdf(tmp_path / "scan.pdf", grey_page())
    with pytest.raises(ocrmypdf.ExitCodeException, match=words) as caught:
        run(source, tmp_path / "out.pdf", **options)
    assert "\n" not in str(caught.value)


def test_processes_and_the_command_line(tmp_path):
    source = as_pdf(tmp_path / "scan.pdf", grey_page(), grey_page())
    command = [sys.executable, "-m", "ocrmypdf", "--plugin", PLUGIN, "--no-use-threads", "--jobs", "2"]
    command += ["--drmamba-keep", "--drmamba-suppress", "1.2", str(source), str(tmp_path / "out.pdf")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert sizes(tmp_path / "out.pdf") == sizes(source)
    assert [bits for *_, bits in pictures(tmp_path / "out.pdf")] == [1, 1]


def test_without_ocrmypdf_one_line_names_the_extra():
    code = f"import sys; sys.modules['ocrmypdf'] = None; import {PLUGIN}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert install_command("ocrmypdf") in done.stderr.splitlines()[-1]


def test_text_of_degraded_scans_gets_better(tmp_path):
    model = os.environ.get("DRMAMBA_MODEL") or checkpoint.embedded("lite")
    if model is None:
        pytest.skip("no trained model in the package, and DRMAMBA_MODEL names none")
    pages, texts = zip(
        *[degraded(n, strength) for n, strength in ((7, 0.6), (8, 0.8), (9, 1.0))], strict=True
    )
    source = as_pdf(tmp_path / "scan.pdf", *pages, dpi=300)
    rates = {}
    for name, options in {"plain": {"plugins": []}, "drmamba": {"drmamba_model": str(model)}}.items():
        sidecar = tmp_path / f"{name}.txt"
        run(source, tmp_path / f"{name}.pdf", sidecar=sidecar, **options)
        read = sidecar.read_text().split("\f")
        rates[name] = [ocr.error_rate(*pair) for pair in zip(read, texts, strict=False)]
        assert sizes(tmp_path / f"{name}.pdf") == sizes(source)
    print({name: [round(100 * rate, 2) for rate in found] for name, found in rates.items()})
    assert np.mean(rates["drmamba"]) < np.mean(rates["plain"])
