"""Training crops. Item i depends only on the seed and on i, so a run resumes exactly at any index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from drmamba.config import Convention, DataConfig, LossConfig
from drmamba.data.degrade import degrade
from drmamba.data.degrade.cleared import cleared, probabilities_after
from drmamba.data.dibco import Pair
from drmamba.data.geometry import Shape
from drmamba.data.outline import true_outline
from drmamba.data.page import LabelledPage, Picture
from drmamba.data.paper_textures import PaperTextures
from drmamba.data.pool import PagePool
from drmamba.data.regions import Region, crop_shape, in_share, region_of
from drmamba.data.synthetic import Synthesizer
from drmamba.data.targets import targets
from drmamba.data.unsettled import unsettled
from drmamba.errors import DataError


class CropDataset(Dataset[dict[str, Tensor]]):
    """Random degraded crops of real or synthetic pages.

    Real pages are decoded once and stay in memory. Without pairs every crop is synthetic.

    An item holds `image` (3, H, W) in [0, 1] and the targets of `data.targets`, each (H, W), all float32. If
    `conventions` are given, it also holds `convention`, the index of the one that the targets follow, and with
    the convention `all` the mask `unknown`, which is 1 where there is no truth. If both conventions have
    Tversky weights of their own, it also holds the crop's, `balance` (2,). If the network
    sees the reduced page (`context`), it also holds `page` (3, R, R), `place` (2,) and `visible` (), as
    `DRMamba.forward` takes them.

    `slots` is the number of crops in one update. Each slot has its own sequence of regions, or none: the crops of the
    remaining slots are degraded by themselves, and their page is not visible.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        config: DataConfig,
        loss: LossConfig,
        *,
        seed: int = 0,
        length: int = 1 << 40,
        context: int = 0,
        conventions: Sequence[Convention] = (),
        slots: int = 1,
    ) -> None:
        self.config, self.loss, self.seed, self.length = config, loss, seed, length
        self.context, self.conventions, self.slots = context, tuple(conventions), slots
        if context and not config.region.side:
            raise DataError(
                f"a network with page context (reduced {context} times) is trained on regions; "
                "set data.region.side, for example to 1024"
            )
        papers = PaperTextures(config.textures)
        self.share = config.synthetic_share
        if not pairs and config.synthetic_share < 1:
            raise DataError("there are no pairs to cut crops from; only data.synthetic_share = 1 needs none")
        self.pool = PagePool(pairs, config, papers) if self.share < 1 else None
        self.synthesizer = Synthesizer(config.synthetic, papers) if self.share > 0 else None
        # slot -> the number of its region, the region, and its overview if the network has page context
        self._regions: dict[int, tuple[int, Region, Picture | None]] = {}

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        if not 0 <= index < self.length:
            raise IndexError(index)
        shape = crop_shape(index // self.slots, self.config)
        if self.config.region.side and in_share(index % self.slots, self.config.region.share):
            page, convention, more = self._from_region(index, shape)
        else:
            page, convention = self.crop(np.random.default_rng((self.seed, index)), shape)
            more = _page_of(self._overview(Region(page, convention)), 0, 0, visible=False)
        item = {name: torch.from_numpy(field) for name, field in targets(page.ink, self.loss).items()}
        item["image"] = _planes(page.image)
        if self.conventions:
            item["convention"] = torch.tensor(self.conventions.index(convention))
        if "all" in self.conventions:
            unknown = np.zeros(page.shape, np.bool_) if page.unknown is None else page.unknown
            item["unknown"] = torch.from_numpy(unknown.astype(np.float32))
        if self.loss.balance_all is not None:
            common = self.loss.alpha, self.loss.beta
            item["balance"] = torch.tensor(self.loss.balance_all if convention == "all" else common)
        return item | more

    def crop(self, rng: np.random.Generator, shape: Shape) -> tuple[LabelledPage, Convention]:
        """One degraded crop, rotated by quarter turns with the probability `turns`, and its ink convention."""
        turns = self._turns(rng)
        page, convention = self._upright(rng, shape if turns % 2 == 0 else shape[::-1])
        return page.rotated(turns), convention

    def region(self, rng: np.random.Generator) -> Region:
        """A wide part of a page, degraded as a whole."""
        least, most = self.config.longest, self.config.region.side
        shape = (most, most) if rng.random() < 0.7 else tuple(rng.integers(least, most + 1, 2).tolist())
        page, convention = self._upright(rng, shape, region=True)
        return Region(page.rotated(self._turns(rng)), convention)

    def _from_region(self, index: int, shape: Shape) -> tuple[LabelledPage, Convention, dict[str, Tensor]]:
        config = self.config
        slot, number = region_of(index, self.slots, config.region.crops)
        held = self._regions.get(slot)
        if held is None or held[0] != number:
            region = self.region(np.random.default_rng((self.seed, 1, slot, number)))
            held = number, region, self._overview(region)
            self._regions[slot] = held
        _, region, overview = held
        rng = np.random.default_rng((self.seed, 2, index))
        top, left = region.place(rng, config, shape)
        more = _page_of(overview, top, left, visible=rng.random() >= config.region.hidden)
        return region.crop(top, left, shape), region.convention, more

    def _overview(self, region: Region) -> Picture | None:
        """What a network with page context sees of a region; None for one without."""
        return region.overview(self.context, self.config.region.side) if self.context else None

    def _upright(
        self, rng: np.random.Generator, shape: Shape, *, region: bool = False
    ) -> tuple[LabelledPage, Convention]:
        config = self.config
        if self.synthesizer and rng.random() < self.share:
            convention: Convention = "contest"
            if "all" in self.conventions and rng.random() >= config.synthetic_contest:
                convention = "all"
            return self.synthesizer.page(rng, shape, convention=convention), convention
        assert self.pool is not None
        page, convention = self.pool.region(rng) if region else self.pool.crop(rng, shape)
        page, convention = self._under_training_convention(rng, page, convention)
        probabilities = config.degrade
        if convention == "all":
            # Pale rules are ink here, so guide lines and ruled sheets would contradict them.
            probabilities = replace(probabilities, rulings=0.0, new_paper=0.0)
        if region:
            probabilities = replace(probabilities, margin=config.region.margin)
            if rng.random() < config.region.cleared:
                page, probabilities = cleared(page, rng), probabilities_after(probabilities)
        degraded = degrade(page, rng, probabilities, self.pool)
        return LabelledPage(degraded.image, degraded.ink, page.unknown), convention

    def _under_training_convention(
        self, rng: np.random.Generator, page: LabelledPage, convention: Convention
    ) -> tuple[LabelledPage, Convention]:
        """A real page under the convention that it is trained with: the share `contest_as_all` becomes `all`.

        Its text is ink under both. What else is printed or drawn there has no truth under `all`.
        """
        share = self.config.contest_as_all
        if not share or "all" not in self.conventions or rng.random() >= share or convention == "all":
            return page, convention
        return LabelledPage(page.image, true_outline(page), unsettled(page)), "all"

    def _turns(self, rng: np.random.Generator) -> int:
        """The number of quarter turns by which a page is rotated."""
        if not self.config.turns:
            return 0
        quarters = int(rng.integers(1, 4))
        return quarters if rng.random() < self.config.turns else 0


def _page_of(overview: Picture | None, top: int, left: int, *, visible: bool) -> dict[str, Tensor]:
    """The page context of a crop at this place, or nothing in training without it."""
    if overview is None:
        return {}
    return {
        "page": _planes(overview),
        "place": torch.tensor([top, left], dtype=torch.float32),
        "visible": torch.tensor(float(visible)),
    }


def _planes(image: Picture) -> Tensor:
    """The image transposed from (H, W, 3) to (3, H, W), as a tensor."""
    return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))
