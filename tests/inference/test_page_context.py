"""What the network is told of a page fits its windows, however the page is seen; and what happens without it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from stand_in import text_page

from drmamba.checkpoint import Provenance
from drmamba.config import (
    PROTOCOLS,
    BlockConfig,
    DetailConfig,
    EngineConfig,
    InferenceConfig,
    ModelConfig,
    WindowConfig,
)
from drmamba.errors import CheckpointError
from drmamba.images import ArraySource
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.page_context import BAND_ROWS, reduced_page
from drmamba.inference.runtime.base import Runtime
from drmamba.inference.tiling import bands, places
from drmamba.inference.view import SCAN_BLACK, SCAN_CONTRAST, PageView
from drmamba.model.network import DRMamba

WINDOWS = WindowConfig(window=96, stride=64)
PLAIN = InferenceConfig(
    windows=WINDOWS, scale=1.0, auto_rotate=False, add_noise=False, invert=False, margins=False
)


class Recorder(Runtime):
    """A runtime that remembers what it was shown; ink is what is dark."""

    count, devices, context, conventions = 1, ["memory"], 4, ("contest", "all")

    def __init__(self):
        self.pages, self.calls = [], []

    def enter(self):
        return None

    def see_page(self, network, reduced):  # noqa: ARG002
        self.pages.append(reduced)
        return reduced

    def run(self, network, windows, suppress, precision="float32", **situation):  # noqa: ARG002
        self.calls.append((windows[0].copy(), situation))
        return (windows.mean(3) < 128).astype(np.float32)


def coordinates(height: int, width: int) -> np.ndarray:
    """A page whose colours say where they are: red grows downwards, green to the right."""
    page = np.full((height, width, 3), 128, np.uint8)
    page[..., 0] = np.linspace(10, 240, height)[:, None]
    page[..., 1] = np.linspace(10, 240, width)[None]
    return page


@pytest.mark.parametrize("shape", [(96, 96), (250, 301), (40, 500), (97, 33)])
@pytest.mark.parametrize("fit", [True, False])
def test_places_are_what_the_tiling_cuts(shape, fit):
    config = replace(WINDOWS, fit=fit)
    page = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    cut = []

    def remember(windows):
        for window in windows:
            cut.append(window)
            yield np.zeros(window.shape[:2], np.float32)

    list(bands(ArraySource(page), remember, config))
    found = places(*shape, config)
    assert len(found) == len(cut)
    for (top, left, height, width), window in zip(found, cut, strict=True):
        np.testing.assert_array_equal(window, page[top : top + height, left : left + width])


@pytest.mark.parametrize("shape", [(64, 48), (4 * BAND_ROWS + 3, 50), (8 * BAND_ROWS, 7), (1, 1)])
def test_a_page_read_in_bands_is_reduced_as_a_whole(shape):
    page = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    np.testing.assert_array_equal(
        reduced_page(ArraySource(page), 4), np.asarray(Image.fromarray(page).reduce(4))
    )


VIEWS = {
    "plain": PageView(),
    "inverted": PageView(inverted=True),
    "enlarged": PageView(scale=1.5),
    "reduced": PageView(scale=0.6),
    "sideways": PageView(rotated=True),
    "sideways, scaled and inverted": PageView(rotated=True, scale=1.3, inverted=True),
    "grained": PageView(noise=2.0),
    "sideways and grained": PageView(rotated=True, noise=2.0),
}


@pytest.mark.parametrize("shape", [(260, 340), (259, 338)])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_windows_lie_on_the_page_where_their_places_say(view, shape):
    """Every window's pixels are found again on the reduced page, in the window's own orientation and tones."""
    runtime = Recorder()
    with Binarizer(runtime, config=PLAIN) as binarizer:
        list(binarizer.bands(ArraySource(coordinates(*shape)), PLAIN, view))
    (page,) = runtime.pages
    assert len(runtime.calls) > 4
    for window, situation in runtime.calls:
        assert situation["page"] is page
        ((top, left),) = situation["places"]
        for y, x in ((20, 20), (20, window.shape[1] - 21), (window.shape[0] // 2, 30)):
            around = window[y - 8 : y + 8, x - 8 : x + 8].reshape(-1, 3).mean(0)  # noise averages out
            at = [
                min(int((place + k) / 4), side - 1)
                for place, k, side in zip((top, left), (y, x), page.shape, strict=False)
            ]
            np.testing.assert_allclose(around, page[at[0], at[1]], atol=6)
    if view.noise:
        assert page.min() >= SCAN_BLACK
        assert page.max() <= SCAN_BLACK + SCAN_CONTRAST * 255


SMALL = ModelConfig(
    encoder="convnext_atto",
    decoder=(16, 16, 16),
    context=4,
    conventions=("contest", "all"),
    block=BlockConfig(width=16),
    detail=DetailConfig(width=8, head_width=8, dilations=(1,), fold=2),
)


def network(**changes) -> DRMamba:
    """A random network whose context and conventions are not the zeros that they start from."""
    torch.manual_seed(0)
    made = DRMamba(replace(SMALL, **changes)).eval()
    for part in (made.context, made.convention):
        for parameter in part.parameters() if part is not None else ():
            torch.nn.init.normal_(parameter, std=0.5)
    return made


def ready(model, config=PLAIN, **options) -> Binarizer:
    return Binarizer(model, config=config, engine=EngineConfig(device="cpu", workers=1),
                     provenance=Provenance(trained=True), **options)  # fmt: skip


def probability(binarizer: Binarizer, page: np.ndarray, view: PageView, config=PLAIN) -> np.ndarray:
    return np.concatenate([band.probability for band in binarizer.bands(ArraySource(page), config, view)])


@pytest.fixture(scope="module")
def seeing():
    with ready(network()) as made:
        yield made


def page_of(height=160, width=128) -> np.ndarray:
    """Text on paper that is darker on one side."""
    shade = np.linspace(0.6, 1, width)[None, :, None]
    return (text_page(height, width)[..., None] * shade).astype(np.uint8).repeat(3, 2)


def test_a_page_turned_by_a_quarter_is_seen_as_if_it_were_level(seeing):
    page = page_of()
    level = probability(seeing, page, PageView())
    turned = probability(seeing, np.ascontiguousarray(np.rot90(page, -1)), PageView(rotated=True))
    np.testing.assert_allclose(np.rot90(turned), level, atol=1e-5)
    alone = probability(seeing, page, PageView(), replace(PLAIN, context=False))
    assert np.abs(level - alone).max() > 1e-3


def test_an_inverted_page_is_seen_as_if_it_were_not(seeing):
    page = page_of()
    want = probability(seeing, page, PageView())
    np.testing.assert_array_equal(probability(seeing, ~page, PageView(inverted=True)), want)


def test_the_rest_of_the_page_changes_a_window(seeing):
    """What lies beyond a window matters with context, and only then."""
    page = page_of(160, 288)
    other = page.copy()
    other[:, 200:] = 255 - other[:, 200:]
    apart = WindowConfig(window=96, stride=96, fit=False)
    for context in (True, False):
        config = replace(PLAIN, windows=apart, context=context)
        one, two = (probability(seeing, p, PageView(), config)[:, :64] for p in (page, other))
        assert (np.abs(one - two).max() > 1e-4) == context


def test_without_context_a_network_is_one_that_has_none(seeing):
    plain = network(context=0)
    tensors = network().state_dict()
    plain.load_state_dict({name: value for name, value in tensors.items() if not name.startswith("context.")})
    page = page_of()
    with ready(plain) as blind:
        want = blind(page).probability
        np.testing.assert_array_equal(seeing(page, context=False).probability, want)
    assert np.abs(seeing(page).probability - want).max() > 1e-3


def test_results_do_not_depend_on_the_number_of_workers(seeing):
    engine = EngineConfig(device="cpu", workers=3)
    with Binarizer(network(), config=PLAIN, engine=engine, provenance=Provenance(trained=True)) as several:
        np.testing.assert_array_equal(several(page_of()).probability, seeing(page_of()).probability)


@pytest.mark.parametrize(
    "config", [PROTOCOLS["paper"], replace(PLAIN, context=False)], ids=["paper", "asked"]
)
def test_nothing_is_looked_at_where_windows_stand_alone(config):
    assert not config.context
    runtime = Recorder()
    with ready(runtime, config) as binarizer:
        binarizer(page_of())
    assert runtime.pages == []
    assert all("page" not in situation and "places" not in situation for _, situation in runtime.calls)


def test_a_black_and_white_page_is_not_looked_at():
    runtime = Recorder()
    with ready(runtime, replace(PLAIN, keep_bilevel=True)) as binarizer:
        found = binarizer(np.where(page_of() < 100, 0, 255).astype(np.uint8))
    assert "bilevel" in found.quality.flags
    assert runtime.pages == runtime.calls == []


class TestKeep:
    def test_the_convention_is_passed_on(self):
        for keep, number in (("text", 0), ("all", 1)):
            runtime = Recorder()
            with ready(runtime) as binarizer:
                binarizer(page_of(), keep=keep)
            assert {situation.get("convention", 0) for _, situation in runtime.calls} == {number}

    def test_a_network_that_knows_both_gives_both(self, seeing):
        text, everything = (seeing(page_of(), keep=keep).probability for keep in ("text", "all"))
        assert np.abs(text - everything).max() > 1e-3

    def test_a_network_that_knows_text_only_says_so(self):
        with ready(network(conventions=())) as binarizer:
            binarizer(page_of(), keep="text")
            with pytest.raises(CheckpointError, match="knows text only and cannot be asked for --keep all"):
                binarizer.check(InferenceConfig(keep="all", restore=False))
            binarizer.check(InferenceConfig(keep="all"))


@pytest.mark.parametrize("settings", [{}, {"keep": "all"}, {"context": False}, {"suppress": 0.5}])
def test_an_explained_page_is_the_page(seeing, settings):
    with ready(network(), explain=True) as explaining:
        found = explaining(page_of(), **settings)
    np.testing.assert_allclose(found.probability, seeing(page_of(), **settings).probability, atol=1e-4)
    assert found.explanation.beta.shape == (160, 128)
