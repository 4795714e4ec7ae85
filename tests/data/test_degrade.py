"""Every degradation: pure, in range, and true to what it says of the ink."""

from dataclasses import fields

import numpy as np
import pytest
from numpy.typing import NDArray

from drmamba.config import DegradeConfig
from drmamba.data.degrade import DEGRADATIONS, EXCLUDED, copies, degrade
from drmamba.data.degrade import ink as ink_damage
from drmamba.data.degrade import paper as paper_damage
from drmamba.data.page import LabelledPage, Picture
from drmamba.data.paper_textures import paper
from drmamba.images import Ink

TAKES_INK_AWAY = {"holes", "erased", "margin", "blank_side"}


class MaterialSource:
    """Striped versos and procedural sheets."""

    def verso(self, rng: np.random.Generator, shape: tuple[int, int], *, fine: bool = True) -> Ink:  # noqa: ARG002
        stripes: Ink = np.broadcast_to((np.arange(shape[1]) % 16 < 4)[None], shape)
        return stripes

    def sheet(self, rng: np.random.Generator, shape: tuple[int, int]) -> Picture:
        return paper(rng, shape)


def written(shape: tuple[int, int] = (96, 120), dark: float = 0.2, light: float = 0.85) -> LabelledPage:
    strokes = np.zeros(shape, bool)
    strokes[10::18, 8:-8] = strokes[11::18, 8:-8] = strokes[12::18, 8:-8] = True
    strokes[:, 30:33] = True
    rng = np.random.default_rng(7)
    image = np.where(strokes, dark, light)[..., None] + rng.normal(0, 0.01, (*shape, 3))
    return LabelledPage(np.clip(image, 0, 1).astype(np.float32), strokes)


def contrast(image: NDArray[np.float32], strokes: Ink) -> float:
    return float(image[~strokes].mean() - image[strokes].mean())


@pytest.mark.parametrize("shape", [(96, 120), (33, 50)])
@pytest.mark.parametrize("name", DEGRADATIONS)
def test_each_is_pure_reproducible_and_in_range(name: str, shape: tuple[int, int]) -> None:
    page = written(shape)
    image, strokes = page.image.copy(), page.ink.copy()
    changed = 0
    for seed in range(6):
        after = DEGRADATIONS[name](page, np.random.default_rng(seed), MaterialSource())
        again = DEGRADATIONS[name](page, np.random.default_rng(seed), MaterialSource())
        assert (after.image == again.image).all()
        assert (after.ink == again.ink).all()
        assert after.image.shape == (*shape, 3)
        assert after.image.dtype == np.float32
        assert np.isfinite(after.image).all()
        assert after.image.min() >= 0
        assert after.image.max() <= 1
        assert after.ink.dtype == np.bool_
        if name in TAKES_INK_AWAY:
            assert not (after.ink & ~page.ink).any()
        else:
            assert (after.ink == page.ink).all()
        changed += bool((after.image != page.image).any())
    assert changed >= 5  # and it does do something
    assert (page.image == image).all()
    assert (page.ink == strokes).all()


@pytest.mark.parametrize("name", DEGRADATIONS)
@pytest.mark.parametrize("full", [False, True])
def test_pages_without_or_full_of_ink(name: str, full: bool) -> None:
    page = LabelledPage(np.full((64, 64, 3), 0.5, np.float32), np.full((64, 64), full))
    for seed in range(4):
        after = DEGRADATIONS[name](page, np.random.default_rng(seed), MaterialSource())
        assert np.isfinite(after.image).all()
        assert not after.ink.any() or full


@pytest.mark.parametrize("name", sorted(TAKES_INK_AWAY))
def test_what_takes_ink_away_does_so_where_it_covers(name: str) -> None:
    page, lost = written((128, 128)), 0
    for seed in range(20):
        after = DEGRADATIONS[name](page, np.random.default_rng(seed), MaterialSource())
        gone = page.ink & ~after.ink
        lost += gone.sum()
        if gone.sum() > 150:  # but for the very edge, nothing of the strokes is to be seen: one even ground
            seen = after.image[gone].mean(1)
            assert np.quantile(np.abs(seen - np.median(seen)), 0.7) < 0.15
    assert lost > 0


@pytest.mark.parametrize("dark", [0.2, 0.6, 0.75])
@pytest.mark.parametrize("name", ["faint", "washed_out", "contrast", "illumination", "grain", "recoloured"])
def test_ink_never_vanishes(name: str, dark: float) -> None:
    page = written(dark=dark)
    before = contrast(page.image, page.ink)
    for seed in range(30):
        after = DEGRADATIONS[name](page, np.random.default_rng(seed), MaterialSource())
        left = contrast(after.image, after.ink)
        assert left > min(0.02, before / 2)


def test_faint_ink_is_fainter_and_paper_stays() -> None:
    page = written()
    weaker = 0
    for seed in range(10):
        after = ink_damage.faint(page, np.random.default_rng(seed))
        weaker += contrast(after.image, page.ink) < contrast(page.image, page.ink) - 0.02
        far = ink_damage.layers(page).near == 0
        assert (after.image[far] == page.image[far]).all()
    assert weaker >= 8


def test_bleed_through_is_mirrored_and_weaker_than_ink() -> None:
    page = written()
    verso = np.zeros(page.shape, bool)
    verso[40:60, 100:112] = True  # right on the back: left on the front
    mirrored = verso[:, ::-1]
    for seed in range(10):
        after = ink_damage.bleed_through(page, lambda *_, **__: verso, np.random.default_rng(seed))
        fresh = mirrored & ~page.ink
        shade = (page.image - after.image)[fresh].mean()
        elsewhere = (page.image - after.image)[verso & ~page.ink].mean()
        assert shade >= 0
        assert elsewhere < 1e-3
        assert after.image[fresh].mean() > page.image[page.ink].mean() + 0.05


def test_sharp_bleed_through_has_a_fine_verso() -> None:
    page = written()
    asked = []

    def verso(rng: np.random.Generator, shape: tuple[int, int], *, fine: bool) -> Ink:  # noqa: ARG001
        asked.append(fine)
        return np.zeros(shape, bool)

    for seed in range(40):
        ink_damage.bleed_through(page, verso, np.random.default_rng(seed))
    assert 10 < sum(asked) < 40


def test_layers_put_the_page_back_together() -> None:
    page = written()
    parts = ink_damage.layers(page)
    assert np.abs(parts.paper - 0.85).max() < 0.05  # the paper under the ink as well
    assert (parts.near[page.ink] > 0.5).all()
    assert abs(float(ink_damage.transmission(page, parts).mean()) - 0.2 / 0.85) < 0.05


def test_new_paper_keeps_strokes_and_forgets_the_old_ground() -> None:
    page = written()
    stained = LabelledPage(page.image.copy(), page.ink)
    stained.image[50:90, 60:110] *= 0.7
    sheet = np.full_like(page.image, 0.6)
    after = ink_damage.new_paper(stained, sheet, np.random.default_rng(0))
    clear = ink_damage.layers(page).near == 0
    np.testing.assert_allclose(after.image[clear], 0.6, atol=1e-6)
    assert contrast(after.image, page.ink) > 0.2


def test_probabilities_decide_what_happens() -> None:
    page = written()
    never = DegradeConfig(**{f.name: 0.0 for f in fields(DegradeConfig)})
    assert degrade(page, np.random.default_rng(0), never, MaterialSource()) is page
    only_grey = DegradeConfig(**{f.name: float(f.name == "grey") for f in fields(DegradeConfig)})
    after = degrade(page, np.random.default_rng(0), only_grey, MaterialSource()).image
    assert (after == after[..., :1]).all()
    untouched = DegradeConfig(untouched=1.0)
    assert degrade(page, np.random.default_rng(0), untouched, MaterialSource()) is page


def test_a_clean_page_is_white_and_nothing_else_happens_to_it() -> None:
    page = written()
    always = DegradeConfig(**{f.name: float(f.name != "untouched") for f in fields(DegradeConfig)})
    for seed in range(5):
        after = degrade(page, np.random.default_rng(seed), always, MaterialSource())
        far = ink_damage.layers(page).near == 0
        assert (after.image[far] > 0.99).all()
        assert contrast(after.image, page.ink) > 0.5
        assert (after.ink == page.ink).all()


def test_photocopies_are_hard_and_exclude_fading() -> None:
    assert "faint" in EXCLUDED["photocopy"]
    page = written(dark=0.35, light=0.7)
    for seed in range(10):
        after = copies.photocopy(page, np.random.default_rng(seed))
        assert (after.image == after.image[..., :1]).all()
        assert contrast(after.image, page.ink) > contrast(page.image, page.ink)


@pytest.mark.parametrize("name", ["photocopy", "microfilm", "snapshot", "pale"])
@pytest.mark.parametrize("dark", [0.2, 0.6])
def test_copies_keep_the_ink_visible(name: str, dark: float) -> None:
    page = written(dark=dark)
    for seed in range(20):
        after = DEGRADATIONS[name](page, np.random.default_rng(seed), MaterialSource())
        assert contrast(after.image, page.ink) > 0.02


def test_a_pale_page_has_no_darker_ink_and_is_shown_with_more_contrast_half_of_the_time() -> None:
    page = written((192, 240))
    seen = np.array(
        [contrast(copies.pale(page, np.random.default_rng(seed)).image, page.ink) for seed in range(60)]
    )
    assert (seen > 0.02).all()
    assert (seen < 0.28).all()
    assert 10 < (seen > 0.1).sum() < 50
    shown = seen[seen > 0.24]
    assert len(shown) > 10  # as much contrast as a model asks for
    assert np.abs(shown - copies.SHOWN_CONTRAST).max() < 0.02


def test_a_pale_page_that_can_be_read_is_kept_and_is_the_only_loss_of_contrast() -> None:
    page = written((192, 240))
    only = DegradeConfig(
        **{name: float(name in ("pale", *EXCLUDED["pale"])) for name in DEGRADATIONS}, untouched=0
    )
    for seed in range(20):
        after = degrade(page, np.random.default_rng(seed), only, MaterialSource())
        assert after.image is not page.image
        assert 0.015 < contrast(after.image, page.ink) < 0.3


def test_a_blank_side_shows_nothing_but_the_mirrored_other_side() -> None:
    seen = []
    for seed in range(40):
        only = DegradeConfig(**{name: float(name == "blank_side") for name in DEGRADATIONS}, untouched=0)
        after = degrade(written((192, 240)), np.random.default_rng(seed), only, MaterialSource())
        assert not after.ink.any()
        back = MaterialSource().verso(np.random.default_rng(0), (192, 240))[:, ::-1]
        seen.append(contrast(after.image, back))
    assert min(seen) > 0
    assert 0.02 < np.median(seen) < 0.4
    assert np.percentile(seen, 90) > 2 * np.percentile(seen, 20)


def test_guide_lines_are_pale_and_thin() -> None:
    blank = LabelledPage(np.full((200, 200, 3), 0.8, np.float32), np.zeros((200, 200), bool))
    for seed in range(10):
        after = paper_damage.rulings(blank, np.random.default_rng(seed))
        assert after.image.min() > 0.8 * (1 - 0.3)
        assert not after.ink.any()


@pytest.mark.parametrize("name", ["stain", "holes", "blots"])
def test_damage_on_wide_regions_comes_small_as_well_as_large(name: str) -> None:
    page = LabelledPage(np.full((700, 700, 3), 0.8, np.float32), np.zeros((700, 700), bool))
    shares = []
    for seed in range(16):
        after = DEGRADATIONS[name](page, np.random.default_rng(seed), MaterialSource())
        shares.append((np.abs(after.image - page.image).max(2) > 0.02).mean())
    assert min(shares) < 0.02
    assert max(shares) > 5 * min(shares)


def test_margins_are_as_narrow_as_strokes_or_wide_and_lie_on_several_sides() -> None:
    written_all_over = LabelledPage(np.full((700, 700, 3), 0.8, np.float32), np.ones((700, 700), bool))
    widths, sides = [], []
    for seed in range(40):
        after = paper_damage.margin(written_all_over, np.random.default_rng(seed))
        edges = [after.ink[:, 350], after.ink[:, 350][::-1], after.ink[350], after.ink[350][::-1]]
        # These are pixels from the picture's side to ink.
        found = [int(np.argmax(edge)) for edge in edges if not edge[0]]
        widths += found
        sides.append(len(found))
    assert min(widths) <= 6
    assert max(widths) >= 60
    assert {1, 2} <= set(sides)
    assert max(sides) >= 3


def test_some_sheets_are_torn_and_some_are_cut_straight() -> None:
    written_all_over = LabelledPage(np.full((500, 500, 3), 0.8, np.float32), np.ones((500, 500), bool))
    rough = []  # the mean change of the edge's position from one row or column to the next, in pixels
    for seed in range(30):
        ink = paper_damage.margin(written_all_over, np.random.default_rng(seed)).ink
        for edges in (ink, ink[::-1], ink.T, ink.T[::-1]):
            depths = np.argmax(edges[:, 150:350], 0)
            if depths.min() > 0:
                rough.append(float(np.abs(np.diff(depths)).mean()))
    assert sum(change < 0.12 for change in rough) > 5
    assert sum(change > 0.15 for change in rough) > 5


def test_washed_out_pages_have_pale_and_dark_ink_on_one_line() -> None:
    """Mostly; and no ink is so pale that it is lost."""
    page = LabelledPage(np.full((300, 600, 3), 0.8, np.float32), np.zeros((300, 600), bool))
    page.ink[140:160] = True
    page.image[page.ink] = 0.2
    lines = [ink_damage.washed_out(page, np.random.default_rng(seed)).image[150, :, 0] for seed in range(40)]
    uneven = [np.quantile(line, 0.95) - np.quantile(line, 0.05) > 0.25 for line in lines]
    assert sum(uneven) >= 25
    assert max(line.max() for line in lines) < 0.8 - 0.03


def test_some_faded_pages_are_written_by_two_hands() -> None:
    page = LabelledPage(np.full((600, 200, 3), 0.8, np.float32), np.zeros((600, 200), bool))
    page.ink[:, 90:110] = True
    page.image[page.ink] = 0.2
    untouched = [
        np.isclose(ink_damage.faint(page, np.random.default_rng(seed)).image[:, 100, 0], 0.2).mean()
        for seed in range(30)
    ]
    assert sum(0.1 < share < 0.9 for share in untouched) >= 3
    assert sum(share < 0.1 for share in untouched) >= 10


def test_the_usual_mixture_leaves_most_ink_visible() -> None:
    page = written((128, 128))
    visible = []
    for seed in range(60):
        after = degrade(page, np.random.default_rng(seed), DegradeConfig(), MaterialSource())
        visible.append(contrast(after.image, after.ink) > 0.02)
    assert np.mean(visible) > 0.95


def test_every_degradation_has_a_probability() -> None:
    assert {f.name for f in fields(DegradeConfig)} == {"untouched", *DEGRADATIONS}
