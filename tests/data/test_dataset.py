"""Crops for training: each depends on seed and index alone, whoever asks and in whatever order."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from made_pages import write_years
from torch.utils.data import DataLoader, Subset, default_collate

from drmamba.config import DataConfig, LossConfig, RegionConfig
from drmamba.data.dataset import CropDataset
from drmamba.data.dibco import Pair, find_pairs
from drmamba.data.paper_textures import PaperTextures
from drmamba.data.pool import PagePool
from drmamba.errors import DataError

PLAIN = DataConfig(crop=64)
MIXED = DataConfig(crop=64, synthetic_share=0.5)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    root = tmp_path_factory.mktemp("crops")
    write_years(root, {"2009": 3, "2010": 2})
    return find_pairs(root)


@pytest.mark.parametrize("config", [PLAIN, MIXED], ids=["real", "mixed"])
def test_an_item_depends_on_seed_and_index_alone(pairs: list[Pair], config: DataConfig) -> None:
    first = CropDataset(pairs, config, LossConfig(), seed=3)
    forwards = [first[i] for i in range(6)]
    second = CropDataset(pairs, config, LossConfig(), seed=3)
    backwards = [second[i] for i in reversed(range(6))][::-1]
    for one, other in zip(forwards, backwards, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            assert torch.equal(one[name], other[name]), name
    elsewhere = CropDataset(pairs, config, LossConfig(), seed=4)[0]
    assert not torch.equal(elsewhere["image"], forwards[0]["image"])


def test_shapes_types_and_range(pairs: list[Pair]) -> None:
    dataset = CropDataset(pairs, MIXED, LossConfig())
    for index in (0, 1, 2, 10**9):
        item = dataset[index]
        assert item["image"].shape == (3, 64, 64)
        assert 0 <= item["image"].min() <= item["image"].max() <= 1
        assert {"ink", "distance", "skeleton", "band"} <= item.keys()
        assert all(value.shape == (64, 64) for name, value in item.items() if name != "image")
        assert all(value.dtype == torch.float32 for value in item.values())
        assert set(item["ink"].unique().tolist()) <= {0.0, 1.0}


def test_finished_crops_are_turned_and_never_mirrored(pairs: list[Pair]) -> None:
    never = 1e-12  # but drawn for, as by the other
    upright = CropDataset(pairs, replace(PLAIN, turns=never), LossConfig(), seed=3)
    turned = CropDataset(pairs, replace(PLAIN, turns=1.0), LossConfig(), seed=3)
    quarters = set()
    for index in range(12):
        one, other = upright[index], turned[index]
        fitting = [k for k in range(4) if torch.equal(one["image"].rot90(k, (1, 2)), other["image"])]
        assert len(fitting) == 1
        assert torch.equal(one["ink"].rot90(fitting[0]), other["ink"])
        quarters.add(fitting[0])
    assert quarters == {1, 2, 3}


def test_workers_give_the_same_crops(pairs: list[Pair]) -> None:
    dataset = CropDataset(pairs, MIXED, LossConfig())
    direct = torch.stack([dataset[i]["image"] for i in range(4)])
    loader = DataLoader(
        Subset(dataset, range(4)), batch_size=2, num_workers=1, multiprocessing_context="fork"
    )
    assert torch.equal(torch.cat([batch["image"] for batch in loader]), direct)


def test_length_ends_iteration(pairs: list[Pair]) -> None:
    dataset = CropDataset(pairs, PLAIN, LossConfig(), length=3)
    assert len(list(dataset)) == len(dataset) == 3
    with pytest.raises(IndexError):
        dataset[3]
    with pytest.raises(IndexError):
        dataset[-1]


def test_synthetic_crops_need_no_pairs() -> None:
    dataset = CropDataset([], DataConfig(crop=64, synthetic_share=1.0), LossConfig())
    assert dataset[0]["ink"].sum() > 0 or dataset[1]["ink"].sum() > 0
    with pytest.raises(DataError, match="synthetic_share"):
        CropDataset([], PLAIN, LossConfig())


def test_crops_find_ink_and_every_page_is_drawn(pairs: list[Pair]) -> None:
    pool = PagePool(pairs, PLAIN, PaperTextures())
    inked = [pool.crop(np.random.default_rng(seed), (64, 64))[0].ink.any() for seed in range(30)]
    assert np.mean(inked) > 0.9
    drawn = {id(pool.page(np.random.default_rng(seed)).image) for seed in range(200)}
    assert len(drawn) == len(pairs)
    assert pool.verso(np.random.default_rng(0), (70, 50)).shape == (70, 50)


@pytest.mark.parametrize("synthetic", [0.0, 1.0])
@pytest.mark.parametrize("regions", [False, True])
def test_the_crops_of_an_update_have_one_shape(pairs: list[Pair], synthetic: float, regions: bool) -> None:
    """Oblong ones as well, rotated or not, by themselves or from regions."""
    region = RegionConfig(side=160, share=0.5) if regions else RegionConfig()
    config = DataConfig(crop=64, oblong=0.5, turns=0.5, synthetic_share=synthetic, region=region)
    dataset = CropDataset(pairs, config, LossConfig(), slots=4, context=8 if regions else 0)
    batches = [default_collate([dataset[4 * update + slot] for slot in range(4)]) for update in range(4)]
    shapes = [tuple(batch["image"].shape[2:]) for batch in batches]
    assert shapes == [(64, 64), (32, 128), (64, 64), (128, 32)]
    assert [tuple(batch["ink"].shape[1:]) for batch in batches] == shapes


def test_a_crop_larger_than_the_page_is_mirrored(pairs: list[Pair]) -> None:
    pool = PagePool(pairs, DataConfig(crop=200), PaperTextures())
    assert pool.crop(np.random.default_rng(0), (200, 200))[0].image.shape == (200, 200, 3)


def test_pages_of_two_sizes_are_refused(tmp_path: Path) -> None:
    from PIL import Image

    write_years(tmp_path, {"2009": 1})
    Image.new("1", (9, 9), 1).save(tmp_path / "2009/gt/1.png")
    with pytest.raises(DataError, match="80 x 60 and 9 x 9"):
        CropDataset(find_pairs(tmp_path), PLAIN, LossConfig())


def test_real_pages_give_crops(data_root: Path) -> None:
    found = [pair for pair in find_pairs(data_root) if pair.year == "2010"][:3]
    item = CropDataset(found, DataConfig(crop=128), LossConfig())[0]
    assert item["image"].shape == (3, 128, 128)
    assert item["image"].std() > 0.005
