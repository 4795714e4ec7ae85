"""A page is recognized after everything that copying does to it, and different pages stay different."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drmamba.config import SyntheticConfig
from drmamba.data.dibco import SAME_SHEET, find_pairs
from drmamba.data.likeness import likeness, resembling, same_pages
from drmamba.data.paper_textures import PaperTextures
from drmamba.data.synthetic import Synthesizer
from drmamba.images import read_ink, read_rgb


@pytest.fixture(scope="module")
def pages():
    maker = Synthesizer(SyntheticConfig(), PaperTextures(None))
    made = [maker.page(np.random.default_rng((7, i)), (400, 560), whole=True) for i in range(5)]
    return [((page.image * 255).astype(np.uint8), page.ink) for page in made]


def recompressed(image):
    file = io.BytesIO()
    image.save(file, "JPEG", quality=25)
    return Image.open(file)


COPIES = {
    "cropped by a pixel": lambda image: image.crop((1, 0, image.width, image.height - 1)),
    "cropped by a twentieth": lambda image: image.crop((28, 8, image.width - 10, image.height - 20)),
    "flipped": lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
    "turned": lambda image: image.rotate(90, expand=True),
    "upside down": lambda image: image.rotate(180),
    "scaled down": lambda image: image.resize((image.width // 2, image.height // 2)),
    "scaled up": lambda image: image.resize((int(image.width * 1.4), int(image.height * 1.3))),
    "recompressed": recompressed,
    "grey": lambda image: image.convert("L"),
}


@pytest.mark.parametrize("copy", COPIES)
def test_copies_are_recognized_by_their_picture(pages, copy):
    kept_apart = [likeness(f"held {i}", image, ink) for i, (image, ink) in enumerate(pages)]
    copies = [
        likeness(f"copy {i}", np.asarray(COPIES[copy](Image.fromarray(image)).convert("RGB")))
        for i, (image, _) in enumerate(pages)
    ]
    assert same_pages(copies, kept_apart) == [(f"copy {i}", f"held {i}") for i in range(len(pages))]


def test_a_changed_picture_is_recognized_by_its_ink(pages):
    _, ink = pages[0]
    paper = np.random.default_rng(3).integers(0, 256, (*ink.shape, 3)).astype(np.uint8)
    changed = ink.copy()
    changed[0, 0] = ~changed[0, 0]
    assert same_pages([likeness("other scan", paper, changed)], [likeness("held", *pages[0])])


def test_different_pages_and_blank_paper_are_not_the_same(pages):
    found = [likeness(str(i), image, ink) for i, (image, ink) in enumerate(pages)]
    assert same_pages(found[:3], found[3:]) == []
    blank = likeness("blank", np.full((300, 400, 3), 230, np.uint8))
    assert blank.hashes() == ()
    assert same_pages([blank], [blank]) == []


def test_foreign_hashes_are_ignored(pages):
    assert resembling(likeness("page", *pages[0]), [("short", "00ff"), ("", "")]) == set()


def test_real_pages_are_told_apart(data_root: Path):
    """No two pages of these two contests are taken for one, except sheets that are known to be the same."""
    pairs = [pair for pair in find_pairs(data_root) if pair.year in ("2011", "2017")]
    found = [likeness(pair.label, read_rgb(pair.image), read_ink(pair.truth)) for pair in pairs]
    older, newer = ([page for page in found if page.label.startswith(year)] for year in ("2011", "2017"))
    assert set(same_pages(older, newer)) <= set(SAME_SHEET)
