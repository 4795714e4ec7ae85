"""The samples of `examples/` give the pixels that they gave when the embedded model was released.

The code around and inside the network may change; the pixels must not. Between them, the pages below use every way
in which the network may see a page: as it is, inverted, rotated, enlarged, reduced, with added noise, or not at all.
"""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from drmamba.config import EngineConfig
from drmamba.inference.binarizer import Binarizer

EXAMPLES = Path(__file__).parents[2] / "examples"

# sha256 of each sample's bitmap, packed to one bit a pixel.
SAMPLES = {
    "bleed-through": "46fd92881f81671f93bb6de86d25e60998e3c6bd5b20cdc59d9bb4a8cf18a54f",
    "faded": "665936afe523c1f565daf4f9c14af1c970df2b8ce8a25684d39c134a5a295bc5",
    "handwriting": "0ce6143c0844cce991669093b780b211560bc88ca027c34a7c44c7dc2ec757a8",
    "papyrus": "b1b084c0b3780d691aa2a9100d90ecd8fb7f282982323e8262906af69174ed42",
    "stained": "326d81be0725cae0536af373673b608294e358745ae047ff5674540448add638",
    "uneven-light": "55770a23b6831e12626002b7885d8643dd550d58a69c6c08d4bfe54b07425d2f",
}

# The flags that each variant of the handwriting sample gets, and the sha256 of its bitmap.
VARIANTS = {
    "inverted": (
        {"inverted", "grained"},
        "9356ab1523b56c34ea82fd3cf5796e02db67299258b289292ca2fe3e3258b6ea",
    ),
    "rotated": ({"sideways", "grained"}, "26244455bfc6c0667cd3a750f1b958b38886cf40a1978049861964b8219e7d37"),
    "reduced": ({"rescaled"}, "b5defe89a7c0fbe8d56472d74417420cd0e686787a762345610aab55aa603d87"),
    "enlarged": ({"grained", "rescaled"}, "460cd882ef18a3727e6e1711fcbe8673d51e337f4fce35924ef3ac40be345d97"),
    "cleaned": ({"grained"}, "bd63ec315eef0eced25a8927aff37920ed735f3b4063da4cc881994013e8ec52"),
    "bilevel": ({"bilevel"}, "a8dd1842d3b5d29052b1acc229a75ef944aa0b0e6d9ff6c93016b097f8ce8d34"),
}


@pytest.fixture(scope="module", params=[1, 2], ids=["one worker", "two workers"])
def binarizer(request):
    with Binarizer.from_pretrained(engine=EngineConfig(device="cpu", workers=request.param)) as made:
        yield made


def digest(binary):
    return hashlib.sha256(np.packbits(binary).tobytes()).hexdigest()


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


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_keeps_its_pixels(binarizer, name):
    page = binarizer(EXAMPLES / f"{name}.jpg")
    assert page.binary.shape == (700, 1000)
    assert digest(page.binary) == SAMPLES[name]


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_keeps_its_pixels(binarizer, name):
    flags, want = VARIANTS[name]
    page = binarizer(variant(name))
    assert set(page.quality.flags) == flags
    assert digest(page.binary) == want
