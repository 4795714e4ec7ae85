"""Training crops: item i depends on the seed and on i alone, so a run resumes exactly at any index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from drmamba.config import DataConfig, LossConfig
from drmamba.data.degrade import degrade
from drmamba.data.dibco import Pair
from drmamba.data.page import Page
from drmamba.data.papers import Papers
from drmamba.data.pool import PagePool
from drmamba.data.synthetic import Synthesizer
from drmamba.data.targets import targets
from drmamba.errors import DataError


class CropDataset(Dataset[dict[str, Tensor]]):
    """Random degraded crops of real or made-up pages, `length` of them or without end.

    Real pages are decoded once and stay in memory. Without pairs every crop is synthetic.

    Items: image (3, S, S) in [0, 1] and the targets of `data.targets`, each (S, S), all float32.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        config: DataConfig,
        loss: LossConfig,
        *,
        seed: int = 0,
        length: int = 1 << 40,
    ) -> None:
        self.config, self.loss, self.seed, self.length = config, loss, seed, length
        papers = Papers(config.textures)
        self.share = config.synthetic_share
        if not pairs and config.synthetic_share < 1:
            raise DataError("there are no pairs to cut crops from; data.synthetic_share = 1 needs none")
        self.pool = PagePool(pairs, config, papers) if self.share < 1 else None
        self.synthesizer = Synthesizer(config.synthetic, papers) if self.share > 0 else None

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        if not 0 <= index < self.length:
            raise IndexError(index)
        page = self.crop(np.random.default_rng((self.seed, index)))
        item = {name: torch.from_numpy(field) for name, field in targets(page.ink, self.loss).items()}
        item["image"] = torch.from_numpy(np.ascontiguousarray(page.image.transpose(2, 0, 1)))
        return item

    def crop(self, rng: np.random.Generator) -> Page:
        """One degraded crop, some of them turned with all that is on them."""
        page = self._upright(rng)
        if self.config.turns and rng.random() < self.config.turns:
            return page.turned(int(rng.integers(1, 4)))
        return page

    def _upright(self, rng: np.random.Generator) -> Page:
        if self.synthesizer and rng.random() < self.share:
            return self.synthesizer.page(rng, (self.config.crop, self.config.crop))
        assert self.pool is not None
        return degrade(self.pool.crop(rng), rng, self.config.degrade, self.pool)
