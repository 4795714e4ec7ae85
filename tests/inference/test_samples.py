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
    "bleed-through": "9c9bf14af0cb58e8cc238c97ea7edaa778117936105f0e322e9b075783b668bf",
    "faded": "cbd343f56c99c819df5e4a78def27bc356f92994f0cf9741d1a31b4b6ae23a7a",
    "handwriting": "c9c79122d8b53c472b2e8ed4b647952746c48a9fc4ba7df26deff3b24547f854",
    "papyrus": "786618b8a8ccc639a8d84d485ba5829f95880b8701c841b251ef2ac035e5b31d",
    "stained": "630de73d9e4a5fc1cceda93b93cfbc9c38c4e94432a751b645cb33a0fb85a79d",
    "uneven-light": "59d99176b980c5a58e5bf3664d9e00d2ee6eb1b6c3162eeb2ffbfdf403f58578",
}

# The flags that each variant of the handwriting sample gets, and the sha256 of its bitmap.
VARIANTS = {
    "inverted": (
        {"inverted", "grained"},
        "4884befa39c65fc435f5c0761ea28625f93a9c41dfc38d018ad8ababd4a42138",
    ),
    "rotated": ({"sideways", "grained"}, "8fd402f6599f917f3c9b0122b87690020e4024fcb7c30fc85a420ca38e1496ce"),
    "reduced": ({"rescaled"}, "428cf30fb5e159a3641742077111f078c4ad99e2f8f48226f6b57587f173874d"),
    "enlarged": ({"grained", "rescaled"}, "16b5189a11e3c21be469ab5f0fb828b723c018036b50e5857837eb431bd2761c"),
    "cleaned": ({"grained"}, "a0d6136e83cdab1aa7cb733d6fd4c1cd53556e94cad40c317a2e5f7f12cb1424"),
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
