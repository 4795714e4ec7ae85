"""What happens to a page after the network: a second look, restoring and pictures, each with a switch."""

import numpy as np
import pytest
from stand_in import binarizer, text_page
from test_pictures import scan

from drmamba.config import InferenceConfig, WindowConfig
from drmamba.errors import CheckpointError, ImageError
from drmamba.images import ArraySource
from drmamba.inference.second_look import CroppedSource
from drmamba.inference.tiling import bands, each
from drmamba.inference.witness.judging import BORDER, TILE

WINDOWS = WindowConfig(window=320, stride=288)


@pytest.fixture(scope="module")
def dark():
    with binarizer(InferenceConfig(windows=WINDOWS)) as made:
        yield made


def ruled_page():
    """Return a page with a frame of rules and a black bar, and a mask of them."""
    page = text_page(700, 900, stroke=5)
    rules = np.zeros(page.shape, np.bool_)
    for top in (60, 620):
        rules[top : top + 4, 60:840] = True
    rules[60:624, 60:64] = rules[60:624, 836:840] = True
    rules[300:350, 200:700] = True
    page[290:360, 190:710] = 220
    page[rules] = 30
    return page, rules


class TestRestoring:
    def found(self, dark, page, mask, **settings):
        """Binarize a page with a network that sees nothing of a mask."""
        known = np.where(mask, 220, page).astype(np.uint8)
        config = InferenceConfig(windows=WINDOWS, **settings)
        analysis_page, seen = ArraySource(page), ArraySource(known)
        results = iter([(w[:, :, 0] < 128).astype(np.float32) for w in _windows(seen, config)])
        return dark.binarize(analysis_page, config, predict=lambda _: results)

    def test_rules_come_back_with_keep_all(self, dark):
        page, rules = ruled_page()
        text = self.found(dark, page, rules)
        assert "lost_content" in text.quality.flags
        assert text.quality.boxes["lost_content"]
        assert not text.binary[rules].any()
        both = self.found(dark, page, rules, keep="all")
        assert both.binary[rules].mean() > 0.95
        assert "restored" in both.quality.flags
        assert "lost_content" not in both.quality.flags
        assert both.probability[rules].mean() > 0.95
        np.testing.assert_allclose(both.quality.ink, both.binary.mean(), atol=1e-6)

    def test_plain_text_stays_as_it_is(self, dark):
        page = text_page(700, 900, stroke=5)
        none = np.zeros(page.shape, np.bool_)
        text, both = (self.found(dark, page, none, keep=keep) for keep in ("text", "all"))
        np.testing.assert_array_equal(text.binary, both.binary)
        assert both.quality.flags == text.quality.flags == ()
        assert both.quality.to_dict()["boxes"] == {}

    def test_each_has_a_switch(self, dark):
        page, rules = ruled_page()
        assert not self.found(dark, page, rules, keep="all", restore=False).binary[rules].any()
        assert self.found(dark, page, rules, witness=False).quality.flags == ()
        with pytest.raises(CheckpointError, match="knows text only"):
            dark.check(InferenceConfig(keep="all", restore=False))


class TestSecondLook:
    """A network that loses the first band of windows brings lost lines back when it is asked again."""

    def test_what_was_missing_is_added(self, dark, monkeypatch):
        page = text_page(700, 900, stroke=5)
        want = page < 128
        calls = []
        bands = dark.bands

        def forgetful(source, config, view, predict=None):
            calls.append(source)
            for band in bands(source, config, view, predict):
                if len(calls) == 1:
                    band.probability[:, 300:600] = 0
                yield band

        monkeypatch.setattr(dark, "bands", forgetful)
        found = dark(page)
        assert isinstance(calls[1], CroppedSource)
        assert len(calls) == 2
        inner = slice(BORDER + TILE, -BORDER - TILE)  # at the edge of the page nothing is missed
        assert (found.binary != want)[inner].mean() < 1e-3
        assert "second_look" in found.quality.flags
        assert "lost_content" not in found.quality.flags
        calls.clear()
        without = dark(page, second_look=False)
        assert len(calls) == 1
        assert "lost_content" in without.quality.flags

    def test_a_page_without_doubt_is_seen_once(self, dark):
        assert "second_look" not in dark(text_page(700, 900, stroke=5)).quality.flags

    def test_a_part_may_reach_beyond_the_page(self):
        page = np.arange(20, dtype=np.uint8).reshape(4, 5)
        part = CroppedSource(ArraySource(page), (-2, -1, 6, 5))
        np.testing.assert_array_equal(part.read()[:, :, 0], np.pad(page, ((1, 1), (2, 1)), mode="edge"))


class TestPictures:
    def page(self, dark, **settings):
        scanned, ink = scan("photograph")
        config = InferenceConfig(windows=WINDOWS, **settings)
        drawn = np.where(ink, 0, 255).astype(np.uint8)
        results = iter([(w[:, :, 0] < 128).astype(np.float32) for w in _windows(ArraySource(drawn), config)])
        return dark.binarize(ArraySource(scanned), config, predict=lambda _: results)

    def test_they_are_dithered_and_flagged(self, dark):
        found = self.page(dark)
        assert "picture" in found.quality.flags
        ((left, top, right, bottom),) = found.quality.boxes["picture"]
        assert 0.2 < found.binary[top:bottom, left:right].mean() < 0.8
        white = self.page(dark, pictures="white")
        assert not white.binary[top + 20 : bottom - 20, left + 20 : right - 20].any()
        off = self.page(dark, find_pictures=False)
        assert "picture" not in off.quality.flags

    def test_grey_needs_a_pdf(self, dark, tmp_path):
        pytest.importorskip("pikepdf")
        found = self.page(dark, pictures="grey")
        with pytest.raises(ImageError, match="cannot hold pictures in grey"):
            found.save(tmp_path / "page.png")
        found.save(tmp_path / "page.pdf")
        assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def _windows(source, config):
    """Return every window of a page, in the order in which a network sees them."""
    kept = []
    for _ in bands(source, each(lambda w: kept.append(w) or w[:, :, 0].astype(np.float32)), config.windows):
        pass
    return kept
