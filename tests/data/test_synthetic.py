"""Made-up pages: reproducible, with the exact truth, in several scripts, with any fonts or none."""

import shutil
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from made_pages import within
from PIL import features
from scipy import ndimage

from drmamba.config import CONVENTIONS, Convention, DegradeConfig, SyntheticConfig
from drmamba.data.paper_textures import PaperTextures
from drmamba.data.synthetic import (
    PAGE_KINDS,
    PageKind,
    Synthesizer,
    fonts,
    layers,
    page_elements,
    pen,
    printing,
)
from drmamba.data.synthetic.texts import SCRIPTS, words
from drmamba.errors import ConfigError, DataError

# These pages have text all over; the other kinds have their own tests.
PLAIN: tuple[PageKind, ...] = ("print", "script", "pen", "papyrus")


@pytest.fixture(scope="module")
def maker() -> Synthesizer:
    return Synthesizer(SyntheticConfig(), PaperTextures())


@pytest.mark.parametrize("kind", PAGE_KINDS)
def test_a_page_depends_on_its_generator_alone(maker: Synthesizer, kind: PageKind) -> None:
    shape = (90, 141)
    page, again = (maker.page(np.random.default_rng(5), shape, kind) for _ in range(2))
    other = maker.page(np.random.default_rng(6), shape, kind)
    assert page.image.shape == (*shape, 3)
    assert page.ink.shape == shape
    assert (page.image == again.image).all()
    assert (page.ink == again.ink).all()
    assert (page.image != other.image).any()


@pytest.mark.parametrize("kind", PLAIN)
def test_most_pages_carry_ink_and_not_too_much(maker: Synthesizer, kind: PageKind) -> None:
    shares = [maker.clean(np.random.default_rng(seed), (160, 160), kind).ink.mean() for seed in range(12)]
    assert np.median(shares) > 0.02
    assert max(shares) < 0.6


@pytest.mark.parametrize("kind", [kind for kind in PAGE_KINDS if kind not in ("halftone", "photograph")])
def test_the_truth_is_the_ink(maker: Synthesizer, kind: PageKind) -> None:
    """The truth is what ink covers: by half of a pixel under `all`, and a little bold under `contest`."""
    rng = np.random.default_rng(2)
    drawn = maker._layers(rng, (160, 160), kind, whole=False)
    plain = [layers.Layer(layer.coverage, np.ones(3, np.float32), layer.kind) for layer in drawn]
    coverage = np.max([layer.coverage for layer in drawn if layer.kind != "tone"], 0)
    scene = layers.inked(np.ones((160, 160, 3), np.float32), plain, rng)
    ink = scene.everything
    assert ink[coverage > 0.502].all()
    assert not ink[coverage < layers.LEAST_COVERAGE].any()
    text = np.max([layer.coverage * (layer.kind == "text") for layer in drawn], 0)
    np.testing.assert_array_equal(scene.text, text >= layers.LEAST_COVERAGE)
    assert scene.image[ink].mean() < 0.6
    assert scene.image[~scene.either].mean() > 0.9


@pytest.mark.parametrize("kind", PLAIN)
def test_conventions_share_the_picture_and_text_is_ink_under_both(kind: PageKind) -> None:
    unruled = replace(SyntheticConfig(), degrade=replace(SyntheticConfig().degrade, rulings=0.0))
    maker = Synthesizer(unruled, PaperTextures())
    for seed in range(4):
        text, everything = (
            maker.page(np.random.default_rng(seed), (160, 160), kind, convention=convention)
            for convention in CONVENTIONS
        )
        assert within(text.ink, everything.ink)
        assert (text.image == everything.image).all()


def test_there_are_no_guide_lines_where_rules_are_ink() -> None:
    degrade = DegradeConfig(**{f.name: float(f.name == "rulings") for f in fields(DegradeConfig)})
    maker = Synthesizer(replace(SyntheticConfig(), degrade=degrade), PaperTextures())
    clean = maker.clean(np.random.default_rng(0), (160, 160), "print")
    contest, everything = (
        maker.page(np.random.default_rng(0), (160, 160), "print", convention=c) for c in CONVENTIONS
    )
    assert (everything.image == clean.image).all()
    assert (contest.image != clean.image).any()


@pytest.mark.parametrize(
    ("kind", "counted"),
    [
        ("text", {"contest", "all"}),
        ("line", {"all"}),
        ("drawing", {"all"}),
        ("stamp", {"all"}),
        ("band", {"all"}),
        ("tone", set()),
    ],
)
def test_each_kind_of_layer_counts_where_it_should(kind: layers.Kind, counted: set[Convention]) -> None:
    coverage = np.zeros((20, 20), np.float32)
    coverage[5:15, 5:15] = 1
    layer = layers.Layer(coverage, np.full(3, 0.8, np.float32), kind)
    scene = layers.inked(np.ones((20, 20, 3), np.float32), [layer], np.random.default_rng(0))
    assert {c for c in CONVENTIONS if scene.ink(c).any()} == counted
    assert [scene.unknown(c) is not None for c in CONVENTIONS] == [False, kind == "tone"]
    assert scene.image[10, 10].max() < 0.5


def test_a_whole_page_has_blank_margins() -> None:
    config = SyntheticConfig(degrade=DegradeConfig(untouched=1.0))
    quiet = Synthesizer(config, PaperTextures())
    inks = [quiet.page(np.random.default_rng(seed), (300, 400), "print", whole=True).ink for seed in range(8)]
    framed = [ink[:10].any() or ink[-10:].any() or ink[:, -10:].any() for ink in inks]
    assert sum(framed) <= 3  # only initials, stamps and rules may reach the edge
    assert all(ink.any() for ink in inks)


@pytest.mark.usefixtures("system_fonts")
@pytest.mark.parametrize("script", SCRIPTS)
def test_fonts_set_the_scripts_they_are_picked_for(script) -> None:
    file = fonts.Fonts().pick(np.random.default_rng(0), script)
    if file is None:
        pytest.skip(f"no font here sets {script}")
    assert len(fonts.settable(file, script)) >= fonts.FEWEST
    assert set(fonts.settable(file, script)) <= set(words(script))
    text = printing.typeset(np.random.default_rng(0), (120, 300), file, script, 28)
    assert 0.01 < (text > 0.5).mean() < 0.6


def test_latin_is_always_there_even_without_any_font(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "system_folders", list)
    maker = Synthesizer(SyntheticConfig(other_scripts=1.0), PaperTextures())
    assert maker.fonts.pick(np.random.default_rng(0), "latin") == fonts.BUILT_IN
    assert maker.fonts.pick(np.random.default_rng(0), "greek") is None
    for kind in PLAIN:
        assert maker.clean(np.random.default_rng(1), (128, 128), kind).ink.any()


def test_a_folder_of_fonts_is_used_alone(tmp_path: Path) -> None:
    any_font = next((f for family in fonts.Fonts().printed for f in family if f), None)
    if any_font is None:
        pytest.skip("no font files here")
    shutil.copy(any_font, tmp_path)
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    chosen = fonts.Fonts(tmp_path)
    assert {Path(f).parent for family in chosen.printed for f in family} == {tmp_path}
    assert fonts.settable(str(tmp_path / "broken.ttf"), "latin") == ()
    with pytest.raises(DataError, match="no fonts"):
        fonts.Fonts(tmp_path.parent / "nothing_there")


def test_shaped_scripts_need_a_layout_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "check", lambda _: False)
    assert fonts.Fonts().pick(np.random.default_rng(0), "arabic") is None


def test_families_are_drawn_alike() -> None:
    names = [f"/f/Big-{cut}.otf" for cut in range(40)] + ["/f/Small-Regular.ttf", "/f/Other.ttf"]
    assert [len(family) for family in fonts.families(names)] == [40, 1, 1]


def test_a_drawn_line_has_its_width() -> None:
    page = np.zeros((60, 100), np.float32)
    pen.stamp(page, np.array([(10.0, 30.0), (90.0, 30.0)]), np.array([2.5, 2.5]))
    columns = page[:, 20:80].sum(0)
    np.testing.assert_allclose(columns, 5.0, atol=0.05)
    slanted = np.zeros((100, 100), np.float32)
    pen.stamp(slanted, np.array([(20.0, 20.0), (80.0, 80.0)]), np.array([2.0, 2.0]))
    assert abs(slanted.sum() - (4 * np.hypot(60, 60) + np.pi * 4)) < 12


def test_curves_pass_through_their_points_and_lift_the_pen() -> None:
    strokes = [np.array([(0.0, 0.0), (10.0, 5.0), (20.0, 0.0)]), np.array([(50.0, 50.0), (60.0, 50.0)])]
    path, drawn = pen.curves(strokes, 8)
    for stroke in strokes:
        for point in stroke:
            assert np.hypot(*(path - point).T).min() < 1.5
    steps = np.hypot(*np.diff(path, axis=0).T)
    assert steps[drawn[:-1]].max() < 3  # nothing is drawn across the gap between the strokes
    assert steps.max() > 3


@pytest.mark.parametrize("seed", range(4))
def test_handwriting_varies_in_width_and_hangs_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    writer = pen.hand(rng, 20.0)
    page = pen.written(writer, rng, (200, 300)) > 0.5
    assert 0.01 < page.mean() < 0.4
    _, count = ndimage.label(page, np.ones((3, 3)))
    letters = page.sum() / (writer.x_height * writer.widths[1] * 2)
    assert count < letters  # joined, not scattered dots


def test_worn_type_frays_and_stays_where_it_was() -> None:
    page = np.zeros((100, 100), np.float32)
    page[20:80, 40:52] = 1
    for amount in (0.0, 0.3, 0.9):
        after = printing.worn(page, np.random.default_rng(0), amount) > 0.5
        assert np.count_nonzero(after ^ (page > 0.5)) < 0.35 * page.sum()
        assert not after[:, :30].any()


def test_rules_initials_and_stamps_are_ink() -> None:
    rng = np.random.default_rng(0)
    file = fonts.Fonts().pick(rng, "latin") or ""
    assert page_elements.rules(rng, (80, 120), 2.0).max() > 0.9
    stamps = [page_elements.round_stamp(rng, (200, 200), file).max() for _ in range(6)]
    assert max(stamps) > 0.9
    for _ in range(5):
        letter, box = page_elements.initial(rng, (200, 200), file, 80)
        outside = letter.copy()
        outside[box] = 0
        assert outside.sum() < 0.02 * max(letter.sum(), 1)


def test_versos_are_ink_and_kinds_can_be_switched_off() -> None:
    only = SyntheticConfig(**{kind: float(kind == "papyrus") for kind in PAGE_KINDS})
    maker = Synthesizer(only, PaperTextures())
    assert {maker._kind(np.random.default_rng(seed)) for seed in range(20)} == {"papyrus"}
    for fine in (False, True):
        versos = [maker.verso(np.random.default_rng(seed), (101, 77), fine=fine) for seed in range(3)]
        assert any(verso.any() for verso in versos)
        assert {verso.shape for verso in versos} == {(101, 77)}
    with pytest.raises(ConfigError, match="one must be above 0"):
        SyntheticConfig(**dict.fromkeys(PAGE_KINDS, 0.0))
