"""Regions: when each is used, that crops and overviews fit together, and that items depend on seed and index alone."""

from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from made_pages import write_years
from PIL import Image

from drmamba.config import CONVENTIONS, DataConfig, LossConfig, RegionConfig
from drmamba.data.dataset import CropDataset
from drmamba.data.degrade.cleared import bare
from drmamba.data.dibco import Pair, find_pairs
from drmamba.data.filters import reduced
from drmamba.data.page import LabelledPage
from drmamba.data.paper_textures import PaperTextures
from drmamba.data.pool import PagePool
from drmamba.data.regions import Region, region_of
from drmamba.errors import ConfigError, DataError

CONFIG = DataConfig(crop=64, region=RegionConfig(side=160, crops=3), synthetic_share=0.3)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    root = tmp_path_factory.mktemp("regions")
    write_years(root, {"2009": 3, "2010": 2})
    return find_pairs(root)


def crops(pairs: list[Pair], config: DataConfig = CONFIG, **more: object) -> CropDataset:
    given = {"seed": 3, "context": 4, "conventions": CONVENTIONS, "slots": 4, **more}
    return CropDataset(pairs, config, LossConfig(), **given)  # type: ignore[arg-type]


class TestSchedule:
    @pytest.mark.parametrize(("slots", "count"), [(4, 4), (6, 4), (8, 3), (1, 5), (3, 1)])
    def test_every_region_serves_as_many_updates_as_it_should(self, slots: int, count: int) -> None:
        updates = 6 * count
        uses = Counter(region_of(index, slots, count) for index in range(slots * updates))
        for slot in range(slots):
            numbers = sorted(number for own, number in uses if own == slot)
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
            # The first and the last may be cut short: slots do not all start at the beginning of a region.
            assert all(uses[slot, number] == count for number in numbers[1:-1])

    def test_an_update_has_one_crop_of_each_slot(self) -> None:
        for update in range(5):
            assert {region_of(update * 4 + i, 4, 3)[0] for i in range(4)} == set(range(4))

    @pytest.mark.parametrize(("slots", "count"), [(4, 4), (8, 4), (16, 4)])
    def test_slots_change_at_different_updates(self, slots: int, count: int) -> None:
        changes: dict[int, int] = defaultdict(int)
        for update in range(count, 3 * count):
            for slot in range(slots):
                before, now = (region_of(u * slots + slot, slots, count) for u in (update - 1, update))
                changes[update] += before != now
        assert set(changes.values()) == {slots // count}


class TestItems:
    def test_an_item_depends_on_seed_and_index_alone(self, pairs: list[Pair]) -> None:
        first = crops(pairs)
        forwards = [first[i] for i in range(16)]
        second = crops(pairs)
        backwards = {i: second[i] for i in reversed(range(16))}
        fresh = {i: crops(pairs)[i] for i in (5, 14)}
        for found in (backwards, fresh):
            for index, item in found.items():
                assert item.keys() == forwards[index].keys()
                for name, value in item.items():
                    assert torch.equal(value, forwards[index][name]), (index, name)
        assert not torch.equal(crops(pairs, seed=4)[0]["image"], forwards[0]["image"])

    def test_two_threads_give_the_same_items(self, pairs: list[Pair]) -> None:
        alone, together = crops(pairs), crops(pairs)
        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(together.__getitem__, range(24)))
        for index, item in enumerate(found):
            for name, value in alone[index].items():
                assert torch.equal(value, item[name]), (index, name)

    def test_crops_beside_regions_are_made_by_themselves_without_page_context(
        self, pairs: list[Pair]
    ) -> None:
        config = replace(CONFIG, region=replace(CONFIG.region, share=0.5, hidden=0.0))
        mixed, alone = crops(pairs, config), crops(pairs, replace(config, region=RegionConfig()), context=0)
        whole = crops(pairs, replace(config, region=replace(config.region, share=1.0)))
        for index in range(8):
            item = mixed[index]
            assert bool(item["visible"]) == bool(index % 2)
            expected = whole[index] if index % 2 else alone[index]
            assert torch.equal(item["image"], expected["image"]), index
            assert item.keys() == whole[index].keys()

    def test_shapes_and_names(self, pairs: list[Pair]) -> None:
        item = crops(pairs)[0]
        assert item["image"].shape == (3, 64, 64)
        assert item["page"].shape == (3, 40, 40)
        assert item["place"].shape == (2,)
        assert item["visible"].shape == item["convention"].shape == ()
        assert item["convention"].dtype == torch.int64
        plain = crops(pairs, context=0, conventions=())[0]
        assert not {"page", "place", "visible", "convention"} & plain.keys()

    def test_a_crop_lies_on_its_page_where_its_place_says(
        self, pairs: list[Pair], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """At places of whole reduced pixels the reduced crop is a part of the overview, pixel by pixel."""
        place = Region.place
        monkeypatch.setattr(Region, "place", lambda *given: tuple(value // 4 * 4 for value in place(*given)))
        dataset = crops(pairs)
        places = set()
        for index in range(12):
            item = dataset[index]
            top, left = (int(value) // 4 for value in item["place"])
            places.add((top, left))
            small = torch.nn.functional.avg_pool2d(item["image"][None], 4)[0]
            torch.testing.assert_close(
                small, item["page"][:, top : top + 16, left : left + 16], rtol=1e-4, atol=1e-5
            )
        assert len(places) > 4

    def test_crops_of_one_region_share_its_overview(self, pairs: list[Pair]) -> None:
        dataset = crops(pairs, slots=1)
        pages = [dataset[index]["page"] for index in range(6)]
        assert all(torch.equal(page, pages[0]) for page in pages[:3])
        assert all(torch.equal(page, pages[3]) for page in pages[3:])
        assert not torch.equal(pages[0], pages[3])

    def test_some_crops_do_not_see_their_page(self, pairs: list[Pair]) -> None:
        for hidden, seen in ((0.0, {1.0}), (1.0, {0.0}), (0.5, {0.0, 1.0})):
            config = replace(CONFIG, region=replace(CONFIG.region, hidden=hidden))
            dataset = crops(pairs, config, slots=1)
            assert {float(dataset[index]["visible"]) for index in range(12)} == seen

    def test_context_needs_regions(self, pairs: list[Pair]) -> None:
        with pytest.raises(DataError, match=r"trained on regions; set data\.region\.side"):
            crops(pairs, DataConfig(crop=64))

    def test_a_region_is_no_narrower_than_a_crop(self) -> None:
        with pytest.raises(ConfigError, match=r"data\.region must be at least as wide as a crop, 128 pixels"):
            DataConfig(crop=128, region=RegionConfig(side=127))

    @pytest.mark.parametrize("side", [161, 162, 163])
    def test_a_side_need_not_be_a_multiple_of_the_reduction(self, pairs: list[Pair], side: int) -> None:
        config = replace(CONFIG, region=replace(CONFIG.region, side=side), synthetic_share=1.0)
        dataset = crops(pairs, config, slots=1)
        for index in range(0, 9, 3):
            item = dataset[index]
            assert item["page"].shape == (3, 41, 41)


class TestRegions:
    def test_what_an_overview_lacks_has_the_mean_colour(self) -> None:
        image = np.random.default_rng(0).random((50, 80, 3), dtype=np.float32)
        region = Region(LabelledPage(image, np.zeros((50, 80), bool)), "contest")
        whole = region.overview(4, 96)
        assert whole.shape == (24, 24, 3)
        np.testing.assert_array_equal(whole[:13, :20], reduced(image, 4))
        np.testing.assert_allclose(
            whole[13:], np.broadcast_to(reduced(image, 4).mean((0, 1)), (11, 24, 3)), rtol=1e-5
        )
        np.testing.assert_allclose(whole[:, 20:].std((0, 1)), 0, atol=1e-6)

    def test_strips_give_regions_that_are_no_squares(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        for part, picture in (
            ("img", rng.integers(120, 255, (70, 400), np.uint8)),
            ("gt", rng.random((70, 400)) > 0.1),
        ):
            (tmp_path / "2009" / part).mkdir(parents=True)
            Image.fromarray(picture).save(tmp_path / "2009" / part / "strip.png")
        config = replace(CONFIG, synthetic_share=0.0, zoom=(1.0, 1.0), rotated=0.0, flips=(0.0, 0.0, 0.0))
        pool = PagePool(find_pairs(tmp_path), config, PaperTextures())
        page, _ = pool.region(rng)
        assert page.shape == (70, 160)  # as high as the page, as wide as a region may be
        assert page.image.shape == (70, 160, 3)
        item = crops(find_pairs(tmp_path), config)[0]
        assert item["image"].shape == (3, 64, 64)
        assert item["page"].shape == (3, 40, 40)

    def test_blank_crops_have_little_ink(self) -> None:
        ink = np.zeros((160, 160), bool)
        ink[:, :90] = np.random.default_rng(0).random((160, 90)) < 0.3
        region = Region(LabelledPage(np.ones((160, 160, 3), np.float32), ink), "contest")

        def shares(blank: float) -> list[float]:
            config = replace(CONFIG, region=replace(CONFIG.region, blank=blank))
            places = [region.place(np.random.default_rng(seed), config, (64, 64)) for seed in range(40)]
            return [float(region.crop(*place, (64, 64)).ink.mean()) for place in places]

        assert np.mean(shares(1.0)) < 0.25 * np.mean(shares(0.0))
        assert np.mean(np.array(shares(0.0)) > 0.005) > 0.9

    def test_a_crop_may_be_the_whole_region(self) -> None:
        region = Region(LabelledPage(np.ones((64, 64, 3), np.float32), np.zeros((64, 64), bool)), "contest")
        assert region.place(np.random.default_rng(0), CONFIG, (64, 64)) == (0, 0)
        assert region.crop(0, 0, (64, 64)).image.shape == (64, 64, 3)


class TestConventions:
    def test_real_pages_keep_theirs(self, pairs: list[Pair]) -> None:
        real = replace(CONFIG, synthetic_share=0.0)
        for convention in CONVENTIONS:
            marked = [replace(pair, convention=convention) for pair in pairs]
            dataset = crops(marked, real, slots=1)
            found = {int(dataset[index]["convention"]) for index in range(0, 12, 3)}
            assert found == {CONVENTIONS.index(convention)}

    def test_synthetic_pages_have_both(self) -> None:
        made = replace(CONFIG, synthetic_share=1.0)
        for share, want in ((1.0, {0}), (0.0, {1}), (0.5, {0, 1})):
            dataset = crops([], replace(made, synthetic_contest=share), slots=1)
            assert {int(dataset[index]["convention"]) for index in range(0, 36, 3)} == want

    def test_a_network_that_knows_one_gets_the_contests(self) -> None:
        dataset = crops([], replace(CONFIG, synthetic_share=1.0, synthetic_contest=0.0), conventions=())
        assert dataset.region(np.random.default_rng(0)).convention == "contest"


def test_a_bare_sheet_has_lost_its_ink() -> None:
    rng = np.random.default_rng(0)
    ink = np.zeros((96, 128), bool)
    for top in range(8, 88, 12):
        ink[top : top + 3, 8:120] = True
    image = np.where(ink[..., None], 0.2, 0.8 + rng.normal(0, 0.01, (96, 128, 1))).repeat(3, 2)[..., :3]
    sheet = bare(LabelledPage(image.astype(np.float32), ink), rng)
    assert sheet.shape == (96, 128, 3)
    assert abs(float(sheet[ink].mean() - sheet[~ink].mean())) < 0.05
    assert sheet.min() > 0.6


@pytest.mark.parametrize(("share", "expected"), [(0.0, {0}), (1.0, {1}), (0.5, {0, 1})])
def test_text_of_the_contests_also_serves_for_the_convention_all(
    pairs: list[Pair], share: float, expected: set[int]
) -> None:
    config = replace(CONFIG, synthetic_share=0.0, contest_as_all=share)
    made = crops(pairs, config)
    assert {int(made[index]["convention"]) for index in range(0, 120, 4)} == expected


def test_crops_under_all_have_their_own_balance_of_false_and_lost_ink(pairs: list[Pair]) -> None:
    config = replace(CONFIG, synthetic_share=0.0, contest_as_all=0.5)
    loss = LossConfig(alpha=0.4, beta=0.6, balance_all=(0.5, 0.5))
    made = CropDataset(pairs, config, loss, seed=3, context=4, conventions=CONVENTIONS, slots=4)
    expected = {0: [0.4, 0.6], 1: [0.5, 0.5]}
    seen = set()
    for index in range(0, 80, 4):
        item = made[index]
        seen.add(convention := int(item["convention"]))
        assert item["balance"].tolist() == pytest.approx(expected[convention])
    assert seen == {0, 1}
    assert "balance" not in crops(pairs, config)[0]


def test_lines_beside_the_text_of_the_contests_have_no_truth_under_all(tmp_path: Path) -> None:
    """The contests call a rule paper; under `all` it would be ink, so neither is taught."""
    ink, image = np.zeros((300, 300), bool), np.full((300, 300, 3), 210, np.uint8)
    for left in range(20, 280, 12):
        ink[100:116, left : left + 4] = True
    image[ink] = 40
    image[200:203] = 60  # a rule
    (tmp_path / "2009" / "img").mkdir(parents=True)
    (tmp_path / "2009" / "gt").mkdir()
    Image.fromarray(image).save(tmp_path / "2009" / "img" / "1.png")
    Image.fromarray(~ink).save(tmp_path / "2009" / "gt" / "1.png")
    whole = DataConfig(
        crop=256,
        zoom=(1.0, 1.0),
        rotated=0.0,
        flips=(0.0, 0.0, 0.0),
        degrade=replace(CONFIG.degrade, untouched=1.0),
        region=RegionConfig(side=512),
    )
    for share, expected in ((1.0, True), (0.0, False)):
        made = crops(find_pairs(tmp_path), replace(whole, contest_as_all=share))
        assert any(bool(made[index]["unknown"].any()) for index in range(4)) is expected
        assert all(not (made[index]["unknown"] * made[index]["ink"]).any() for index in range(4))


def test_a_network_without_conventions_has_none_to_ask_for(pairs: list[Pair]) -> None:
    config = replace(CONFIG, synthetic_share=0.0, contest_as_all=1.0)
    assert "convention" not in crops(pairs, config, conventions=())[0]
