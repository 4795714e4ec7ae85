"""Noise is added to pages cleaner than paper, black-and-white pages are kept, and scans are left alone."""

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image, ImageDraw, ImageFont
from stand_in import binarizer, save, text_page

from drmamba import Binarizer
from drmamba.cli.binarize import command
from drmamba.config import PROTOCOLS, InferenceConfig, ModelConfig
from drmamba.images import ArraySource
from drmamba.inference.analysis import analyse_page
from drmamba.inference.analysis.tones import Tones, measure_tones
from drmamba.inference.explain import Exploration
from drmamba.inference.view import (
    ADDED_NOISE,
    BLANK_CONTRAST,
    CLEAN_NOISE,
    INK_TOLERANCE,
    SCAN_CONTRAST,
    SPOTLESS_NOISE,
    added_noise,
    choose_view,
    solid_ink_level,
    with_noise,
)


def print_(ink=0, paper=255, *, soft=True):
    """Bold print as a program draws it; `soft`: with grey edges."""
    page = Image.new("L", (640, 400), paper)
    draw = ImageDraw.Draw(page)
    font = ImageFont.load_default(48)
    for line, text in enumerate(("Recording a Sequence", "FORWARD, REWIND,", "LOCATE and ERASE")):
        draw.text((20, 30 + 110 * line), text, ink, font, stroke_width=2)
    grey = np.asarray(page)
    return grey if soft else np.where(grey < 128, 0, 255).astype(np.uint8)


@pytest.fixture
def model():
    """The embedded model, as if it had not learned from clean pages."""
    with Binarizer.from_pretrained() as found:
        runtime = found.pool.runtime
        runtime.model = replace(runtime.model, clean_pages=False)
        yield found


def counted(page):
    return np.bincount(page.ravel(), minlength=256)


def test_noise_of_the_paper_is_measured_between_the_strokes():
    for noise in (1.0, 3.0, 6.0):
        page = text_page(256, 256, noise=noise)
        tones = measure_tones([page], counted(page))
        assert tones.noise == pytest.approx(noise, rel=0.2)
        assert tones.contrast == pytest.approx(190, rel=0.1)
    drawn = print_(soft=False)[:256, :256]
    assert measure_tones([drawn], counted(drawn)) == Tones(ink=0, paper=255, noise=0, between=0, darkest=0)
    assert measure_tones([], counted(drawn)) == Tones()


def test_scans_get_no_noise_and_clean_pages_do():
    assert added_noise(Tones(20, 220, CLEAN_NOISE * 200)) == 0
    clean = Tones(20, 220, CLEAN_NOISE * 200 - 0.1)
    assert added_noise(clean) == pytest.approx(ADDED_NOISE * SCAN_CONTRAST * 200)
    assert solid_ink_level(Tones(20, 220, SPOTLESS_NOISE * 200)) == 0
    spotless = Tones(20, 220, SPOTLESS_NOISE * 200 - 0.1)
    assert solid_ink_level(spotless) == pytest.approx(20 + INK_TOLERANCE * 200)
    assert added_noise(Tones()) == solid_ink_level(Tones()) == 0
    assert added_noise(analyse_page(ArraySource(text_page(300, 400, noise=6.0))).tones) == 0
    drawn = text_page(300, 400, ink=0, paper=255, noise=0)
    black, white = analyse_page(ArraySource(drawn)), analyse_page(ArraySource(255 - drawn))
    assert black.tones == white.tones
    assert added_noise(black.tones) > 0
    assert white.inverted


def test_noise_is_the_same_each_time_and_leaves_blank_windows_alone():
    seen = []

    def predict(windows):
        for window in windows:
            seen.append(window)
            yield np.zeros(window.shape[:2], np.float32)

    rng = np.random.default_rng(0)
    window = np.dstack([rng.choice([0, 255], (700, 600)).astype(np.uint8)] * 3)
    blank = np.full((64, 64, 3), 255, np.uint8)
    blank[:, :, 2] = 180  # coloured paper
    blank[0, 0] -= BLANK_CONTRAST - 1
    list(with_noise(predict, 4.0)(iter([window, window, blank])))
    assert np.array_equal(seen[0], seen[1])
    assert seen[2] is blank
    white = seen[0][window > 0].astype(float)
    assert white.mean() == pytest.approx(30 + 255 * SCAN_CONTRAST, abs=1)
    assert white.std() == pytest.approx(4, rel=0.1)
    assert seen[0].dtype == np.uint8


def test_only_models_that_have_not_learned_from_clean_pages_get_noise():
    source = ArraySource(print_())
    analysis = analyse_page(source)
    for learned in (False, True):
        view = choose_view(
            source, analysis, InferenceConfig(auto_rotate=False), iter, ModelConfig(clean_pages=learned)
        )
        assert (view.noise > 0) is (view.solid_ink > 0) is not learned


def test_headlines_rules_and_bullets_of_a_spotless_page_are_kept(model):
    page = print_().copy()
    page[100:130, 500:530] = 0  # a bullet
    page[20:390, 10:12] = 0  # a rule
    found = model(page, scale=1.0)
    dim = model(np.maximum(page, 30) - np.uint8(20), scale=1.0)
    assert not model(page, scale=1.0, add_noise=False).binary[20:390, 10:12].all()
    for binary in (found.binary, dim.binary):
        assert binary[100:130, 500:530].all()
        assert binary[20:390, 10:12].all()


def test_a_scrap_on_a_white_ground_is_not_a_spotless_page():
    scan = text_page(500, 700, paper=170, noise=6.0)
    scan[:, :300] = scan[:90] = 255
    tones = analyse_page(ArraySource(scan)).tones
    assert tones.between > 1
    assert solid_ink_level(tones) == 0
    assert solid_ink_level(analyse_page(ArraySource(print_())).tones) > 0


def test_maps_of_such_a_page_are_the_networks(model):
    page = print_()
    exploration = Exploration(model, ArraySource(page), InferenceConfig(scale=1.0))
    maps, made = exploration.explanation(), model(page, scale=1.0)
    assert np.array_equal(exploration.page.binary, made.binary)
    assert maps.beta[page < 128].std() > 0  # all the same where ink was put in


@pytest.mark.parametrize("keep", [0, 10**9])
def test_knobs_turn_on_such_a_page(model, keep):
    page = print_()
    exploration = Exploration(model, ArraySource(page), InferenceConfig(scale=1.0), keep=keep)
    for settings in ({"threshold": 0.3}, {"suppress": 0.5}):
        turned = exploration.adjust(**settings)
    want = model(page, scale=1.0, threshold=0.3, suppress=0.5)
    assert turned.quality.flags == want.quality.flags
    assert (turned.binary != want.binary).mean() < 1e-4


@pytest.mark.parametrize("learned", [False, True])
def test_bold_print_survives_with_the_model_that_ships_and_with_noise(model, learned):
    runtime, page = model.pool.runtime, print_()
    runtime.model = replace(runtime.model, clean_pages=learned)
    kept, truth = model(page, scale=1.0), page < 128
    assert ("grained" in kept.quality.flags) is not learned
    assert (kept.binary & truth).sum() > 0.95 * truth.sum()
    assert (kept.binary & ~truth).sum() < 0.15 * truth.sum()


@pytest.mark.parametrize("inverted", [False, True])
def test_black_and_white_pages_stay_as_they_are(inverted):
    page = text_page(300, 400, ink=0, paper=255, noise=0)
    assert set(np.unique(page)) == {0, 255}
    with binarizer() as dark:
        found = dark(255 - page if inverted else page)
        assert np.array_equal(found.binary, page < 128)
        assert found.quality.flags == (("inverted", "bilevel") if inverted else ("bilevel",))
        assert "bilevel" not in dark(page, keep_bilevel=False).quality.flags
        one_grey = page.copy()
        one_grey[0, 0] = 254
        assert "bilevel" not in dark(one_grey).quality.flags
        white = np.full((64, 64), 255, np.uint8)
        assert dark(white).quality.flags == ("blank",)


def test_what_was_made_is_not_changed_when_made_again():
    with binarizer() as dark:
        once = dark(text_page(300, 400))
        again = dark((~once.binary * 255).astype(np.uint8))
    assert np.array_equal(once.binary, again.binary)


def test_black_and_white_pages_can_be_explained(model):
    found = Exploration(model, ArraySource(print_(soft=False)), InferenceConfig(scale=1.0)).explained()
    assert found.explanation is not None
    assert "grained" in found.quality.flags
    assert found.binary.any()


def test_the_papers_protocol_has_neither():
    assert not PROTOCOLS["paper"].add_noise
    assert not PROTOCOLS["paper"].keep_bilevel


def test_the_command_counts_such_pages_as_unremarkable(tmp_path):
    save(tmp_path / "in" / "a.png", print_(soft=False))
    paths = [str(tmp_path / "in"), "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(command, paths)
    assert done.exit_code == 0, done.output
    assert "0 flagged" in done.output
    with Image.open(tmp_path / "out" / "a.png") as made:
        assert np.array_equal(np.asarray(made), print_(soft=False) > 128)
    # Both the present and the former names work.
    for names in (["--no-keep-bilevel", "--no-add-noise"], ["--no-as-is", "--no-grain"]):
        done = CliRunner().invoke(command, [*paths, *names, "--overwrite"])
        assert done.exit_code == 0, done.output
        assert "1 done" in done.output
        assert "bilevel" not in done.output
        assert "grained" not in done.output
