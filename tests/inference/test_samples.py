"""The samples of `examples/` give the pages that they gave when the embedded model was released.

The code around and inside the network may change; the pages must not. Between them, the pages below use every way in
which the network may see a page: as it is, inverted, rotated, enlarged, reduced, or not at all. The release's pages are
in `tests/inference/samples`; after a release, `python tests/inference/test_samples.py` writes them anew.
"""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drmamba.config import EngineConfig
from drmamba.inference.binarizer import Binarizer

EXAMPLES = Path(__file__).parents[2] / "examples"
RELEASED = Path(__file__).parent / "samples"

SAMPLES = ("bleed-through", "faded", "handwriting", "papyrus", "stained", "uneven-light")
# The flags that each variant of the handwriting sample gets.
VARIANTS = {
    "inverted": {"inverted"},
    "rotated": {"sideways"},
    "reduced": {"rescaled"},
    "enlarged": {"rescaled"},
    "cleaned": set(),
    "bilevel": {"bilevel"},
}


@pytest.fixture(scope="module", params=[1, 2], ids=["one worker", "two workers"])
def binarizer(request):
    with Binarizer.from_pretrained(engine=EngineConfig(device="cpu", workers=request.param)) as made:
        yield made


def variant(name):
    """Return the handwriting sample, or a part of it, changed so that the network must see it in another way."""
    with Image.open(EXAMPLES / "handwriting.jpg") as sample:
        scan = sample.convert("RGB")
    part = scan.crop((100, 100, 700, 500))
    match name:
        case "inverted":
            return 255 - np.asarray(part)
        case "rotated":
            return np.rot90(np.asarray(part))
        case "reduced":
            return np.asarray(scan.reduce(3))
        case "enlarged":
            small = scan.crop((100, 100, 400, 300))
            return np.asarray(small.resize((1200, 800), Image.Resampling.BICUBIC))
        case "cleaned":
            return np.asarray(part.convert("L").point(lambda grey: min(255, max(0, (grey - 60) * 3))))
        case "bilevel":
            return np.asarray(part.convert("L").point(lambda grey: 255 if grey > 120 else 0))
    raise AssertionError(name)


def different(binary, name):
    """Return how many pixels are not those of the release."""
    with Image.open(RELEASED / f"{name}.png") as released:
        want = ~np.asarray(released)
    assert binary.shape == want.shape
    return np.count_nonzero(binary != want)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_keeps_its_pixels(binarizer, name):
    page = binarizer(EXAMPLES / f"{name}.jpg")
    assert page.binary.shape == (700, 1000)
    assert different(page.binary, name) == 0


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_keeps_its_pixels(binarizer, name):
    page = binarizer(variant(name))
    assert set(page.quality.flags) == VARIANTS[name]
    assert different(page.binary, name) == 0


def write_samples():
    """Write the pages of the embedded model as those of the release."""
    RELEASED.mkdir(exist_ok=True)
    with Binarizer.from_pretrained(engine=EngineConfig(device="cpu")) as made:
        pages = {name: made(EXAMPLES / f"{name}.jpg") for name in SAMPLES}
        pages |= {name: made(variant(name)) for name in VARIANTS}
    for name, page in pages.items():
        page.save(RELEASED / f"{name}.png")
        print(f"{name}: {', '.join(page.quality.flags) or 'no flags'}")


if __name__ == "__main__":
    write_samples()
