"""Every kind of composed page: at any size, under both conventions, with whatever fonts there are."""

import numpy as np
import pytest
from made_pages import within
from scipy import ndimage

from drmamba.config import CONVENTIONS, PAGE_KINDS, DegradeConfig, PageKind, SyntheticConfig
from drmamba.data.page import LabelledPage
from drmamba.data.paper_textures import PaperTextures
from drmamba.data.synthetic import Synthesizer, fonts, layers, linework, pictures
from drmamba.data.synthetic.galley import headline
from drmamba.data.synthetic.plate import Plate
from drmamba.data.synthetic.scene import PAGES

# What a kind of page has besides text; the others are text alone.
OWN_INK: dict[PageKind, set[layers.Kind]] = {
    "newspaper": {"line"},
    "table": {"line"},
    "drawing": {"drawing"},
    "woodcut": {"drawing"},
    "form": {"line"},
    "ledger": {"line"},
    "music": {"line", "drawing"},
    "map": {"drawing", "line"},
    "ornament": {"line", "drawing"},
    "bands": {"band"},
    "halftone": {"drawing"},
}


@pytest.fixture(scope="module")
def maker() -> Synthesizer:
    return Synthesizer(SyntheticConfig(degrade=DegradeConfig(untouched=1.0)), PaperTextures())


def both(
    maker: Synthesizer, kind: PageKind, shape: tuple[int, int], seed: int
) -> tuple[LabelledPage, LabelledPage]:
    """The page under both conventions; only white letters on black depend on it, all else is drawn once."""
    if kind == "bands":
        return tuple(maker.clean(np.random.default_rng(seed), shape, kind, convention=c) for c in CONVENTIONS)
    scene = maker._scene(np.random.default_rng(seed), shape, kind, "all", whole=False)
    return tuple(LabelledPage(scene.image, scene.ink(convention)) for convention in CONVENTIONS)


@pytest.mark.parametrize("kind", PAGES)
def test_every_kind_draws_on_a_crop_and_on_a_region(maker: Synthesizer, kind: PageKind) -> None:
    for shape, seeds in (((256, 256), range(2)), ((640, 640), range(1)), ((70, 331), range(2))):
        for seed in seeds:
            text, everything = both(maker, kind, shape, seed)
            assert everything.image.shape == (*shape, 3)
            assert everything.image.dtype == np.float32
            assert everything.image.min() >= 0
            assert everything.image.max() <= 1
            assert text.ink.shape == everything.ink.shape == shape
            assert within(text.ink, everything.ink)


@pytest.mark.parametrize("kind", sorted(OWN_INK))
def test_what_is_no_text_is_ink_under_all_alone(maker: Synthesizer, kind: PageKind) -> None:
    kinds: set[layers.Kind] = set()
    more = 0
    for seed in range(8):
        if OWN_INK[kind] <= kinds and more >= 3:
            break
        rng = np.random.default_rng(seed)
        drawn = maker._layers(rng, (320, 320), kind, whole=False)
        kinds |= {layer.kind for layer in drawn if layer.coverage.max() > 0.5}
        text, everything = both(maker, kind, (320, 320), seed)
        more += bool((everything.ink & ~text.ink).sum() > 50)
    assert OWN_INK[kind] <= kinds
    assert more >= 3


@pytest.mark.parametrize("kind", [kind for kind in PAGES if kind != "bands"])
def test_the_picture_does_not_depend_on_the_convention(maker: Synthesizer, kind: PageKind) -> None:
    text, everything = (
        maker.clean(np.random.default_rng(3), (128, 128), kind, convention=c) for c in CONVENTIONS
    )
    assert (text.image == everything.image).all()
    for ours, theirs in zip(both(maker, kind, (128, 128), 3), (text, everything), strict=True):
        assert (ours.image == theirs.image).all()
        assert (ours.ink == theirs.ink).all()


def test_bands_are_black_under_all_and_absent_under_contest(maker: Synthesizer) -> None:
    absent = 0
    for seed in range(6):
        text, everything = both(maker, "bands", (256, 256), seed)
        band = everything.ink & ~text.ink
        _, count = ndimage.label(band)
        if not count or band.sum() < 500:
            continue
        absent += 1
        assert everything.image[band].mean() < text.image[band].mean() - 0.05
        elsewhere = ~ndimage.binary_dilation(band, iterations=6)
        np.testing.assert_allclose(text.image[elsewhere], everything.image[elsewhere], atol=1e-5)
    assert absent >= 2


def test_a_photograph_is_never_ink_and_fine_screens_are_tone(maker: Synthesizer) -> None:
    seen = 0
    for seed in range(8):
        drawn = maker._layers(np.random.default_rng(seed), (256, 256), "photograph", whole=False)
        tones = [layer for layer in drawn if layer.kind == "tone"]
        seen += len(tones)
        assert {layer.kind for layer in drawn} <= {"tone", "text", "line"}
    assert seen >= 4
    dots = pictures.screened(np.full((90, 90), 0.3, np.float32), 9.0, 0.0) > 0.5
    _, count = ndimage.label(dots)
    assert 81 <= count <= 121  # one a cell, and those cut off at the edges


def test_strokes_span_one_to_sixty_pixels(maker: Synthesizer) -> None:
    def broadest(seed: int) -> float:
        ink = maker.clean(np.random.default_rng(seed), (320, 320), "newspaper", convention="all").ink
        return float(2 * ndimage.distance_transform_edt(ink).max())

    assert any(broadest(seed) > 40 for seed in range(60))
    assert any(broadest(seed) < 8 for seed in range(60))


def test_calligraphy_has_hairlines_and_swelling_strokes_on_mostly_blank_paper(maker: Synthesizer) -> None:
    pages = [maker.clean(np.random.default_rng(seed), (512, 512), "calligraphy").ink for seed in range(24)]
    written = [ink for ink in pages if ink.any()]
    assert len(written) >= 18
    assert np.mean([ink.mean() for ink in written]) < 0.12
    broadest = [2 * ndimage.distance_transform_edt(ink).max() for ink in written]
    assert min(broadest) < 7  # nothing but hairlines
    assert max(broadest) > 20  # a down-stroke with full pressure


@pytest.mark.parametrize("kind", PAGES)
def test_no_font_file_is_needed(kind: PageKind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "system_folders", list)
    bare = Synthesizer(SyntheticConfig(other_scripts=1.0), PaperTextures())
    rngs = map(np.random.default_rng, range(4))
    assert any(bare.clean(rng, (160, 160), kind, convention="all").ink.any() for rng in rngs)


@pytest.mark.parametrize("kind", PAGES)
def test_a_frequency_of_zero_switches_a_kind_off(kind: PageKind) -> None:
    others = SyntheticConfig(**{kind: 0.0})
    never = Synthesizer(others, PaperTextures())
    assert kind not in {never._kind(np.random.default_rng(seed)) for seed in range(300)}
    only = SyntheticConfig(**{name: float(name == kind) for name in PAGE_KINDS})
    always = Synthesizer(only, PaperTextures())
    assert {always._kind(np.random.default_rng(seed)) for seed in range(10)} == {kind}


def test_whole_pages_keep_their_margins(maker: Synthesizer) -> None:
    for seed in range(4):
        ink = maker.page(np.random.default_rng(seed), (400, 300), "table", convention="all", whole=True).ink
        assert not ink[:5].any()
        assert not ink[:, :5].any()


def test_an_engraving_gets_darker_with_its_tone() -> None:
    shares = [
        np.mean([linework.engraving(np.random.default_rng(s), (200, 200), 6.0, dark=dark) for s in range(6)])
        for dark in (0.1, 0.4, 0.8)
    ]
    assert shares[0] < shares[1] < shares[2]
    lines = linework.hatching((100, 100), 0.0, 10.0, 3.0)
    assert abs(float(lines.mean()) - 0.3) < 0.02


def test_a_plate_draws_only_what_its_window_sees() -> None:
    plate = Plate.drawn(np.random.default_rng(0), (64, 64))
    seen = plate.window
    plate.line("line", (seen.left + 10, seen.top + 5), (seen.left + 10, seen.top + 60), 4)
    column = plate.canvas("line")[20:40].sum(1)
    np.testing.assert_allclose(column, 4, atol=0.1)
    plate.line("line", (seen.right + 50, 0), (seen.right + 50, 900), 4)
    assert plate.canvas("line")[:, 30:].max() == 0
    plate.clear(seen)
    assert plate.canvas("line").max() == 0


def test_a_headline_that_is_too_long_is_set_smaller(maker: Synthesizer) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        plate = Plate.drawn(rng, (400, 300), whole=True)
        headline(plate, rng, maker.typography.face(rng, "latin"), plate.page, 120)
        ink = plate.canvas("text") > 0.3
        assert ink.any()
        assert not ink[:, :3].any()
        assert not ink[:, -3:].any()


@pytest.mark.parametrize("kind", PAGE_KINDS)
def test_small_windows_can_be_made_of_every_kind(maker: Synthesizer, kind: PageKind) -> None:
    for seed in range(6):
        page = maker.page(np.random.default_rng(seed), (32, 32), kind, convention="all")
        assert page.image.shape == (32, 32, 3)
