"""The witness: it sees what a result has lost and what it should not have, and nothing else sets it off."""

import numpy as np
import pytest
from scipy import ndimage
from stand_in import text_page

from drmamba.inference.witness import Structures, Witness
from drmamba.inference.witness.judging import BORDER, TILE, by_tile, straight
from drmamba.inference.witness.structures import closed, enlarged, highest, lowest, smoothed

PAGE = text_page(700, 900, stroke=5)
INK = (PAGE < 128).astype(np.uint8) * 255


def verdict(page, ink, **settings):
    return Witness(page, 1, **settings).compare(ink).verdict


class TestFilters:
    @pytest.mark.parametrize("side", [3, 5, 25])
    def test_extremes_and_closing_are_those_of_scipy(self, side):
        grey = np.random.default_rng(1).integers(0, 255, (61, 83), np.uint8)
        np.testing.assert_array_equal(highest(grey, side), ndimage.maximum_filter(grey, side, mode="nearest"))
        np.testing.assert_array_equal(lowest(grey, side), ndimage.minimum_filter(grey, side, mode="nearest"))
        want = ndimage.minimum_filter(
            ndimage.maximum_filter(grey, side, mode="nearest"), side, mode="nearest"
        )
        np.testing.assert_array_equal(closed(grey, side), want)

    def test_tiles_are_counted_to_the_last_pixel(self):
        mask = np.random.default_rng(2).random((101, 133)) < 0.3
        want = [
            [mask[top : top + TILE, left : left + TILE].sum() for left in range(0, 133, TILE)]
            for top in range(0, 101, TILE)
        ]
        np.testing.assert_array_equal(by_tile(mask), want)

    def test_smoothing_keeps_a_flat_page(self):
        assert (smoothed(np.full((9, 9), 200, np.uint8)) == 200).all()

    def test_enlarged_is_cut_to_its_shape(self):
        assert enlarged(np.eye(2, dtype=np.bool_), 4, (7, 6)).shape == (7, 6)


def test_structures_are_measured_at_the_level_of_their_width():
    page = np.full((800, 800), 220, np.uint8)
    page[100:110, 100:700] = 40  # fine
    page[300:360, 100:700] = 40  # wide
    fine, wide, widest = Structures.measure(page).levels
    assert fine.darkness[105, 400] == 180
    assert fine.darkness[330, 400] == 0
    assert wide.darkness[330 // 4, 100] > 170
    assert widest.darkness.max() < 40


class TestLostContent:
    def test_a_whole_result_has_lost_nothing(self):
        found = verdict(PAGE, INK)
        assert (found.lost, found.lost_boxes, found.has_dirt) == (0, (), False)

    def test_lost_lines_are_seen_where_they_were(self):
        less = INK.copy()
        less[300:420] = 0
        found = verdict(PAGE, less)
        assert found.has_lost
        assert 0.05 < found.lost < 0.4
        assert all(top >= 300 - TILE and bottom <= 420 + TILE for _, top, _, bottom in found.lost_boxes)

    def test_a_lost_headline_is_seen(self):
        page, ink = PAGE.copy(), INK.copy()
        page[60:200, 60:840] = 220
        ink[60:200, 60:840] = 0
        page[80:180, 100:160] = page[80:180, 300:370] = 30
        found = verdict(page, ink)
        assert found.has_lost
        assert not verdict(page, np.where(page < 128, 255, 0).astype(np.uint8)).has_lost

    def test_the_lost_middle_of_a_headline_is_seen(self):
        """A network that finds the outlines of broad letters may lose what lies between them."""
        page, ink = PAGE.copy(), INK.copy()
        page[60:200, 60:840] = 220
        ink[60:200, 60:840] = 0
        page[80:180, 100:700] = 30
        ink[80:180, 100:700] = 255
        assert not verdict(page, ink).has_lost
        ink[86:174, 106:694] = 0
        found = Witness(page, 1).compare(ink)
        assert found.verdict.has_lost
        (lost,) = found.wide
        assert np.count_nonzero(lost.whole) > np.count_nonzero(lost.mask)

    def test_boxes_are_in_pixels_of_the_page(self):
        less = INK.copy()
        less[300:420] = 0
        one, two = (Witness(PAGE, reduction).compare(less).verdict.lost_boxes[0] for reduction in (1, 2))
        assert two == tuple(2 * side for side in one)

    def test_what_is_ignored_is_not_missed(self):
        less, ignored = INK.copy(), np.zeros(INK.shape, np.bool_)
        less[300:420] = 0
        ignored[280:440] = True
        assert not verdict(PAGE, less, ignored=ignored).has_lost


class TestNothingElseSetsItOff:
    @pytest.mark.parametrize("depth", [15, 30, 45])
    def test_bleed_through(self, depth):
        """The other side shines through: paler than ink, and soft."""
        verso = ndimage.gaussian_filter((PAGE[:, ::-1] < 128).astype(np.float32), 2.0)
        page = np.clip(PAGE - depth * verso * 2, 0, 255).astype(np.uint8)
        assert not verdict(page, INK).has_lost

    def test_a_stain_and_a_shadow(self):
        y, x = np.mgrid[:700, :900]
        stain = 90 * np.exp(-(((x - 450) / 120) ** 2 + ((y - 350) / 90) ** 2))
        page = np.clip(PAGE - stain - 80 * x / 900, 0, 255).astype(np.uint8)
        assert not verdict(page, INK).has_lost

    def test_a_stain_beside_a_headline(self):
        y, x = np.mgrid[:700, :900]
        page, ink = PAGE.copy(), INK.copy()
        page[60:200, 60:840] = 220
        ink[60:200, 60:840] = 0
        page[80:180, 100:400] = 30
        ink[80:180, 100:400] = 255
        stain = 150 * np.exp(-(((x - 480) / 60) ** 2 + ((y - 130) / 40) ** 2))
        stained = np.where(ink > 0, page, np.clip(page - stain, 40, 255)).astype(np.uint8)
        assert not verdict(stained, ink).has_lost

    def test_a_dark_panel_with_writing_on_it(self):
        """A label of darker paper has sharp edges, but the ink on it is darker still."""
        panel = np.zeros(PAGE.shape, np.bool_)
        panel[200:500, 200:700] = True
        page = np.where(panel, PAGE // 2, PAGE).astype(np.uint8)
        assert not verdict(page, INK).has_lost

    def test_a_dark_margin_and_a_line_along_the_edge(self):
        page = PAGE.copy()
        page[:, :60] = 20
        page[:, -BORDER // 2 :] = 20
        ink = INK.copy()
        ink[:, :80] = ink[:, -BORDER:] = 0
        assert not verdict(page, ink).has_lost

    def test_noise_on_a_blank_page(self):
        page = np.clip(np.random.default_rng(0).normal(200, 12, (600, 600)), 0, 255).astype(np.uint8)
        found = verdict(page, np.zeros_like(page))
        assert not found.has_lost
        assert not found.has_dirt


class TestPaleRules:
    """Rules of writing paper are paler than the writing; they count only if everything drawn is to be kept."""

    def ruled(self):
        page = PAGE.copy()
        for top in range(40, 680, 45):
            row = page[top : top + 2, 40:860]
            page[top : top + 2, 40:860] = np.where(row > 128, 110, row)
        return page

    def test_they_count_on_request_only(self):
        assert not verdict(self.ruled(), INK).has_lost
        assert verdict(self.ruled(), INK, pale_rules=True).has_lost

    def test_letters_are_not_straight(self):
        assert not straight(INK[:, :300] > 0).any()
        line = np.zeros((40, 200), np.bool_)
        line[20:22, 10:100] = line[21:23, 100:190] = True  # a slant of one pixel
        assert straight(line).sum() == line.sum()


class TestKeptDirt:
    def test_ink_on_plain_paper_has_no_cause(self):
        ink, blank = INK.copy(), ndimage.maximum_filter(INK, 25) == 0
        rng = np.random.default_rng(3)
        specks = np.kron(rng.random((234, 300)) < 0.2, np.ones((3, 3), np.bool_))[:700, :900]
        ink[blank & specks] = 255
        found = verdict(PAGE, ink)
        assert found.has_dirt
        assert found.dirt_boxes

    def test_bold_strokes_are_no_dirt(self):
        assert not verdict(PAGE, ndimage.maximum_filter(INK, 5)).has_dirt
