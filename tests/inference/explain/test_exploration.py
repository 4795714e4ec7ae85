"""Maps over a page, and the knob that reruns only what follows them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from drmamba.config import EngineConfig, InferenceConfig, WindowConfig
from drmamba.errors import InputError
from drmamba.images import ArraySource
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.explain import Exploration
from drmamba.inference.models import load_model

TORCH = EngineConfig(runtime="torch")
CONFIG = InferenceConfig(windows=WindowConfig(window=96, stride=64), scale=1.0, context=False)


@pytest.fixture(scope="module")
def binarizer():
    network, provenance, sha256 = load_model("lite", TORCH)
    with Binarizer(
        network, config=CONFIG, engine=EngineConfig(workers=2), provenance=provenance, sha256=sha256
    ) as made:
        yield made


def scan(height=150, width=210, seed=0):
    rng = np.random.default_rng(seed)
    page = np.full((height, width, 3), 215, np.uint8) + rng.integers(0, 12, (height, width, 1), np.uint8)
    for top in range(20, height - 20, 24):
        page[top : top + 4, 20 : width - 20 : 3] = 60
    return page


def test_the_page_is_the_one_without_maps(binarizer):
    plain = binarizer(scan())
    explored = Exploration(binarizer, ArraySource(scan())).page
    np.testing.assert_allclose(explored.probability, plain.probability, atol=1e-5)
    sure = abs(plain.probability - 0.5) > 1e-4
    assert (explored.binary == plain.binary)[sure].all()


def test_maps_have_the_page_s_size_and_the_block_s_values(binarizer):
    page = scan(90, 90)  # one window: nothing is blended
    why = Exploration(binarizer, ArraySource(page)).explanation()
    network = load_model("lite", TORCH)[0].eval()
    with torch.inference_mode():
        maps = network(torch.from_numpy(page)[None].permute(0, 3, 1, 2).float() / 255, maps=True).maps
    for name, map_ in why.maps().items():
        assert map_.shape == (90, 90), name
    wanted = {"D": maps.D, "B": maps.B, "beta": maps.beta, "taken": maps.beta * maps.B}
    for name, want in wanted.items():
        # A map has a value for every four by four pixels, between which it is interpolated.
        fine = torch.nn.functional.interpolate(want.mean(1, keepdim=True), scale_factor=4, mode="bilinear")
        got = torch.from_numpy(why.maps()[name])[8:80, 8:80]
        torch.testing.assert_close(got, fine[0, 0, 8:80, 8:80], rtol=1e-3, atol=1e-4)


def test_windows_blend_without_seams(binarizer):
    """A constant map stays constant, whatever windows it was stitched from."""
    exploration = Exploration(binarizer, ArraySource(scan()))
    exploration._seen = [type(s)(s.probability, np.full_like(s.means, 7.5), None) for s in exploration._seen]
    np.testing.assert_allclose(exploration.explanation().D, 7.5, rtol=1e-5)


@pytest.mark.parametrize("keep", [0, 10**9])
def test_the_knob_gives_what_the_whole_network_gives(binarizer, keep):
    exploration = Exploration(binarizer, ArraySource(scan()), keep=keep)
    assert bool(exploration.kept) == bool(keep)
    for suppress in (0.0, 2.0, 1.0):
        want = binarizer(scan(), suppress=suppress)
        np.testing.assert_allclose(
            exploration.adjust(suppress=suppress).probability, want.probability, atol=1e-5
        )
    other = exploration.adjust(threshold=0.3)
    assert other.quality.ink == round(float((other.probability > 0.3).mean()), 6)


def test_with_kept_routes_the_encoder_rests(binarizer, monkeypatch):
    exploration = Exploration(binarizer, ArraySource(scan()), keep=10**9)
    before = exploration.page.probability.copy()
    network = binarizer.pool.submit(lambda network: network).result()
    monkeypatch.setattr(network.encoder, "forward", lambda _: pytest.fail("the encoder ran again"))
    after = exploration.adjust(suppress=3.0, threshold=0.4)
    assert not np.array_equal(before, after.probability)


def test_too_little_memory_keeps_nothing(binarizer):
    assert Exploration(binarizer, ArraySource(scan()), keep=1000).kept == 0


def test_suppression_scales_the_gate(binarizer):
    one = Exploration(binarizer, ArraySource(scan())).explanation()
    config = replace(CONFIG, suppress=2.0)
    two = Exploration(binarizer, ArraySource(scan()), config).explanation()
    np.testing.assert_allclose(two.beta, 2 * one.beta, rtol=1e-4)
    np.testing.assert_allclose(two.taken, 2 * one.taken, rtol=1e-4)
    np.testing.assert_allclose(two.B, one.B, rtol=1e-4)


def test_a_rescaled_and_inverted_page_is_explained_at_its_own_size(binarizer):
    config = InferenceConfig(windows=CONFIG.windows, scale=0.6)
    page = Exploration(binarizer, ArraySource(255 - scan()), config).explained()
    assert page.explanation.beta.shape == page.binary.shape == (150, 210)
    assert np.isfinite(page.explanation.taken).all()


def test_a_page_on_its_side_is_explained_as_it_lies(binarizer, monkeypatch):
    upright = Exploration(binarizer, ArraySource(scan()), replace(CONFIG, auto_rotate=False)).explained()
    monkeypatch.setattr("drmamba.inference.view.is_rotated", lambda *_: True)
    exploration = Exploration(binarizer, ArraySource(np.rot90(scan(), -1)), CONFIG, keep=10**9)
    page = exploration.explained()
    assert "sideways" in page.quality.flags
    for name, found in page.explanation.maps().items():
        want = np.rot90(upright.explanation.maps()[name], -1)
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5, err_msg=name)
    np.testing.assert_allclose(page.probability, np.rot90(upright.probability, -1), atol=1e-5)
    lighter = exploration.adjust(suppress=2.0)
    plain = Exploration(binarizer, ArraySource(scan()), replace(CONFIG, auto_rotate=False, suppress=2.0)).page
    np.testing.assert_allclose(lighter.probability, np.rot90(plain.probability, -1), atol=1e-4)


def test_blank_windows_stay_blank_under_every_knob(binarizer):
    exploration = Exploration(binarizer, ArraySource(np.full((100, 120), 230, np.uint8)), keep=10**9)
    assert not exploration.adjust(suppress=5.0, threshold=0.01).binary.any()


def test_binarizer_explains_when_asked_to(binarizer):
    asked = Binarizer(
        load_model("lite", TORCH)[0], config=CONFIG, engine=EngineConfig(workers=1), explain=True
    )
    with asked:
        assert asked(scan()).explanation.D.shape == (150, 210)
        assert all(page.explanation is not None for page in asked([scan(), scan()]))
    assert binarizer(scan()).explanation is None


def test_another_network_cannot_explain_itself():
    class Other(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(1))

    with (
        Binarizer(Other(), engine=EngineConfig(workers=1), explain=True) as binarizer,
        pytest.raises(InputError, match="only a DRMamba network"),
    ):
        binarizer(scan())


def test_the_embedded_model_explains_itself_without_torch(binarizer):
    """ONNX Runtime gives torch's maps, and another suppression runs its network again."""
    with Binarizer.from_pretrained("lite", config=CONFIG, engine=EngineConfig(workers=1)) as exported:
        found = Exploration(exported, ArraySource(scan()), keep=10**9)
        want = Exploration(binarizer, ArraySource(scan()))
        for name, values in want.explanation().maps().items():
            np.testing.assert_allclose(found.explanation().maps()[name], values, rtol=1e-3, atol=1e-4)
        assert found.kept == 0
        for suppress in (0.0, 2.0):
            page, other = found.adjust(suppress=suppress), want.adjust(suppress=suppress)
            np.testing.assert_allclose(page.probability, other.probability, atol=1e-4)
        np.testing.assert_allclose(found.explanation().beta, want.explanation().beta, rtol=1e-3, atol=1e-4)
