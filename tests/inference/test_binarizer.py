"""The Binarizer: pages of every kind in, typed pages out."""

import doctest
import warnings

import numpy as np
import pytest
import torch
from PIL import Image
from stand_in import binarizer, save, text_page

import drmamba.inference.binarizer as module
from drmamba.checkpoint import Provenance
from drmamba.checkpoint import save as save_model
from drmamba.config import InferenceConfig, WindowConfig, preset
from drmamba.errors import CheckpointError, ConfigError, InputError
from drmamba.images import Bitmap, encode, read_ink
from drmamba.inference.binarizer import Binarizer, UntrainedWarning
from drmamba.inference.models import load_model
from drmamba.model.network import DRMamba


@pytest.fixture(scope="module")
def dark():
    with binarizer(InferenceConfig(windows=WindowConfig(window=64, stride=48))) as made:
        yield made


def test_examples_in_the_documentation_run():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrainedWarning)
        assert doctest.testmod(module).failed == 0


def test_array_image_path_list_and_generator_agree(dark, tmp_path):
    page = text_page()
    path = save(tmp_path / "page.png", page, dpi=(300, 300))
    want = page < 128
    np.testing.assert_array_equal(dark(page).binary, want)
    np.testing.assert_array_equal(dark(Image.fromarray(page)).binary, want)
    np.testing.assert_array_equal(dark(str(path)).binary, want)
    many = dark([page, path])
    assert isinstance(many, list)
    assert [(one.binary == want).all() for one in many] == [True, True]
    lazily = dark(one for one in [page, "not opened"])
    np.testing.assert_array_equal(next(lazily).binary, want)


def test_a_page_saves_itself_with_its_resolution(dark, tmp_path):
    page = dark(save(tmp_path / "page.png", text_page(), dpi=(300, 200)))
    assert page.dpi == pytest.approx((300, 200), rel=1e-3)
    for name in ("out.png", "out.tif"):
        page.save(tmp_path / name)
        np.testing.assert_array_equal(read_ink(tmp_path / name), page.binary)
        with Image.open(tmp_path / name) as image:
            assert image.info["dpi"] == pytest.approx((300, 200), rel=1e-3)
    page.save_soft(tmp_path / "soft.png")
    soft = np.asarray(Image.open(tmp_path / "soft.png"))
    assert np.abs((255 - soft) / 255 - page.probability).max() < 0.003


@pytest.mark.parametrize("shape", [(1, 1), (1, 3000), (3000, 1), (63, 64), (65, 200)])
def test_any_size(dark, shape):
    page = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    found = dark(page, scale=1.0, invert=False, margins=False)
    assert found.binary.shape == shape
    flat = shape == (1, 1)  # nothing to stand out from: blank
    np.testing.assert_array_equal(found.binary, (page < 128) & (not flat))


def test_knobs_change_what_they_say(dark):
    ramp = np.tile(np.arange(256, dtype=np.uint8), (64, 1))
    plain = {"scale": 1.0, "invert": False, "margins": False}
    usual = dark(ramp, **plain).binary.sum()
    assert (
        dark(ramp, threshold=0.9, **plain).binary.sum()
        < usual
        < dark(ramp, threshold=0.1, **plain).binary.sum()
    )
    assert (
        dark(ramp, suppress=1.5, **plain).binary.sum()
        < usual
        < dark(ramp, suppress=0.0, **plain).binary.sum()
    )
    with pytest.raises(ConfigError, match="strength"):
        dark(ramp, strength=2)


def test_white_on_black_is_turned_round_and_flagged(dark):
    page = text_page(300, 300)
    found = dark(255 - page)
    assert "inverted" in found.quality.flags
    np.testing.assert_array_equal(found.binary, dark(page).binary)
    assert "inverted" not in dark(255 - page, invert=False).quality.flags


def test_dark_margins_do_not_become_ink(dark):
    page = text_page(900, 700, stroke=5)
    want = page < 128
    page[:, :60] = 20
    found = dark(page)
    assert "dark_margins" in found.quality.flags
    assert not found.binary[:, :60].any()
    np.testing.assert_array_equal(found.binary[:, 80:], want[:, 80:])
    assert dark(page, margins=False).binary[:, :60].all()


@pytest.mark.parametrize("level", [0, 128, 255])
def test_blank_pages_stay_blank(dark, level):
    found = dark(np.full((300, 200), level, np.uint8))
    assert not found.binary.any()
    assert found.quality.flags == ("blank",)


def test_wide_strokes_are_brought_to_the_usual_width(dark):
    page = text_page(2000, 2000, stroke=28)
    found = dark(page)
    assert found.binary.shape == page.shape
    assert "rescaled" in found.quality.flags
    assert 0.12 < found.quality.scale < 0.4
    assert ((found.binary != (page < 128)).mean()) < 0.02
    assert dark(page, scale=1.0).quality.scale == 1


def test_fine_strokes_are_seen_enlarged(dark):
    page = text_page(300, 300, stroke=2)
    found = dark(page)
    assert "rescaled" in found.quality.flags
    assert 1.5 < found.quality.scale <= 3
    assert found.binary.shape == page.shape
    assert ((found.binary != (page < 128)).mean()) < 0.02
    assert dark(text_page(300, 300, stroke=4)).quality.scale == 1


def test_doubt_is_reported(dark):
    page = text_page(300, 300, ink=30)
    assert dark(page).quality.uncertain < 0.01
    grey = text_page(300, 300, ink=125, noise=6)
    assert "uncertain" in dark(grey, scale=1.0).quality.flags


def test_other_settings_share_the_network_and_its_threads(dark):
    page = text_page()
    other = dark.with_config(InferenceConfig(threshold=0.9, windows=dark.config.windows))
    assert other.pool is dark.pool
    assert (other.provenance, other.sha256) == (dark.provenance, dark.sha256)
    np.testing.assert_array_equal(other(page).binary, dark(page, threshold=0.9).binary)
    assert dark.config.threshold == 0.5
    other.close()
    np.testing.assert_array_equal(dark(page).binary, page < 128)


def test_a_file_of_several_pages_is_not_cut_to_its_first(dark, tmp_path):
    pages = [text_page(seed=i) < 128 for i in range(3)]
    (tmp_path / "book.tif").write_bytes(encode([Bitmap.pack(page) for page in pages], ".tif"))
    with pytest.raises(InputError, match=r"binarizer\.pages"):
        dark(tmp_path / "book.tif")
    for found, want in zip(dark.pages(tmp_path / "book.tif"), pages, strict=True):
        np.testing.assert_array_equal(found.binary, want)


def test_without_weights_the_model_says_so():
    network, provenance, name = load_model("tiny")
    assert (provenance.trained, name) == (False, "untrained-tiny")
    again, _, _ = load_model("tiny")
    for a, b in zip(network.parameters(), again.parameters(), strict=True):
        assert (a == b).all()  # the same random numbers every time: runs can resume


def test_a_model_file_is_loaded_and_hashed(tmp_path):
    save_model(
        tmp_path / "model.safetensors", DRMamba(preset("lite")), Provenance(preset="lite", trained=True)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Binarizer.from_pretrained(tmp_path / "model.safetensors") as made:
            assert len(made.sha256) == 64
            assert "untrained" not in made(text_page(64, 64)).quality.flags
    with pytest.raises(CheckpointError, match="there is no model 'huge'"):
        Binarizer.from_pretrained("huge")


def test_a_hub_id_is_fetched(tmp_path, monkeypatch):
    save_model(tmp_path / "m.safetensors", DRMamba(preset("lite")), Provenance(preset="lite", trained=True))
    asked = []

    def fetch(*what):
        asked.append(what)
        return tmp_path / "m.safetensors"

    monkeypatch.setattr("drmamba.model.hub_files.fetch", fetch)
    _, provenance, digest = load_model("somebody/drmamba-lite")
    assert provenance.trained
    assert len(digest) == 64
    assert asked == [("somebody/drmamba-lite", "model.safetensors", None)]
    with pytest.raises(CheckpointError, match="there is no model"):
        load_model("runs/missing.safetensors")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "f2018").mkdir(parents=True)
    with pytest.raises(CheckpointError, match=r"runs/f2018 is a folder; give the model file in it"):
        load_model("runs/f2018")


def at_a_seam(made):
    """The middle between two windows, blended, and the same from a window that has it in its middle."""
    page = text_page(128, 224, stroke=4)
    with made:
        plain = {"scale": 1.0, "invert": False, "margins": False}
        blended = made(page, **plain).probability
        centred = made(np.ascontiguousarray(page[:, 48:176]), **plain).probability
    seam = slice(96 - 8, 128 + 8)  # where the windows at 0 and 96 overlap, and a little around
    return blended[:, seam], centred[:, seam.start - 48 : seam.stop - 48]


def test_no_seam_the_result_at_a_seam_is_that_of_a_window_centred_there():
    config = InferenceConfig(windows=WindowConfig(window=128, stride=96))
    torch.manual_seed(0)
    blended, inside = at_a_seam(Binarizer(DRMamba(preset("lite")), config=config))
    assert np.abs(blended - inside).max() < 0.02


def test_no_seam_in_the_bitmaps_of_the_model_that_ships():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrainedWarning)
        made = Binarizer.from_pretrained(config=InferenceConfig(windows=WindowConfig(window=128, stride=96)))
    blended, inside = at_a_seam(made)
    assert np.abs(blended - inside).mean() < 0.001
    sure = np.abs(inside - 0.5) > 0.1
    assert ((blended > 0.5) == (inside > 0.5))[sure].all()
