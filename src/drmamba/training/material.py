"""What a run works with: its crops, its validation pages, its held-out pages, and the record of all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drmamba.checkpoint import read_header
from drmamba.config import CONVENTIONS, RunConfig, replace_values
from drmamba.data.dataset import CropDataset
from drmamba.data.dibco import Pair, Split, find_pairs, split
from drmamba.data.manifest import manifest
from drmamba.data.papers import Papers
from drmamba.data.synthetic import Synthesizer
from drmamba.errors import DataError, TrainingError
from drmamba.files import write_atomic
from drmamba.images import read_ink, read_rgb

SYNTHETIC = "synthetic"
SYNTHETIC_PAGES = 100  # that one epoch of synthetic pages counts as
VALIDATION_SEED = 2**31  # synthetic pages to validate on: never those of a run's own seed
VALIDATION_SHAPE, VALIDATION_PAGES = (512, 768), 8


@dataclass(frozen=True)
class ExamPage:
    """A page to be scored on."""

    year: str
    name: str
    pair: Pair | None = None
    made: tuple[NDArray[np.uint8], NDArray[np.bool_]] | None = None

    def read(self) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """RGB (H, W, 3) and ink (H, W)."""
        if self.pair is not None:
            return read_rgb(self.pair.image), read_ink(self.pair.truth)
        if self.made is None:
            raise DataError(f"{self.year}/{self.name} has neither files nor pixels")
        return self.made


@dataclass(frozen=True)
class Material:
    """The pages of a run by their role."""

    config: RunConfig
    split: Split
    before: tuple[str, ...] = ()  # the sets that the model it starts from was trained on

    @classmethod
    def of(cls, config: RunConfig) -> Material:
        """Find and divide the pages that the config names."""
        source = config.source
        before = _seen_before(config)
        if source.data == SYNTHETIC:
            if source.hold_out or source.extra:
                raise DataError("synthetic pages have no years: leave out --hold-out and --extra")
            return cls(replace_values(config, {"data": {"synthetic_share": 1.0}}), Split((), (), ()), before)
        extra = [pair for given in source.extra for pair in _extra_pairs(given)]
        divided = split(
            find_pairs(source.data),
            source.hold_out,
            validate_on=config.data.validate_on,
            share=config.data.validation_share,
            seed=config.train.seed,
            extra=extra,
        )
        return cls(config, divided, before)

    @property
    def pages(self) -> int:
        """Training pages that one epoch goes through."""
        return len(self.split.train) or SYNTHETIC_PAGES

    @property
    def names(self) -> tuple[str, ...]:
        """The sets trained on, for the model's provenance."""
        return tuple(sorted({pair.year for pair in self.split.train})) or (SYNTHETIC,)

    def crops(self, devices: int = 1) -> CropDataset:
        """The training crops."""
        model, train = self.config.model, self.config.train
        return CropDataset(
            self.split.train,
            self.config.data,
            self.config.loss,
            seed=train.seed,
            context=model.context,
            conventions=model.conventions,
            slots=train.batch * train.accumulation * devices,
        )

    @cached_property
    def validation(self) -> list[ExamPage]:
        """Pages to watch the run by."""
        return exam(self.split.validation) if self.split.train else self._made()

    @property
    def held_out(self) -> list[ExamPage]:
        """Pages that only the final score sees."""
        return exam(self.split.held_out)

    def record(self, path: Path) -> None:
        """Write the manifest, or compare with the one a resumed run began with."""
        found = {**manifest(self.split), "before": list(self.before)}
        if not path.is_file():
            write_atomic(path, json.dumps(found, indent=1).encode())
            return
        known = json.loads(path.read_text())
        changed = _differences(known, found)
        if changed:
            raise TrainingError(
                f"the pages are not those the run began with ({changed[0]}"
                + (f" and {len(changed) - 1} more" if len(changed) > 1 else "")
                + f"; see {path}); restore them or start a new run"
            )

    def _made(self) -> list[ExamPage]:
        maker = Synthesizer(self.config.data.synthetic, Papers(self.config.data.textures))
        pages = []
        for number in range(VALIDATION_PAGES):
            page = maker.page(np.random.default_rng((VALIDATION_SEED, number)), VALIDATION_SHAPE)
            image = (page.image * 255 + 0.5).astype(np.uint8)
            pages.append(ExamPage(SYNTHETIC, f"{number:03d}", made=(image, page.ink)))
        return pages


def _extra_pairs(given: str) -> list[Pair]:
    """The pairs below a folder; `FOLDER=all` says that their ink was marked by that convention."""
    root, _, convention = given.partition("=")
    pairs = find_pairs(root)
    if not convention:
        return pairs
    if convention not in CONVENTIONS:
        raise DataError(f"{given} names no ink convention; there are {', '.join(CONVENTIONS)}")
    return [replace(pair, convention=convention) for pair in pairs]


def exam(pairs: Sequence[Pair]) -> list[ExamPage]:
    """Pairs as pages to be scored on."""
    return [ExamPage(pair.year, pair.name, pair=pair) for pair in pairs]


def _seen_before(config: RunConfig) -> tuple[str, ...]:
    """What the model of `--init` has seen; none of it may be judged on. A file that is gone is missed at a start."""
    path = Path(config.source.init or "")
    if not path.is_file():
        return ()
    seen = read_header(path)[1].data
    judged = {config.source.hold_out, *config.data.validate_on} & {*seen}
    if judged:
        raise TrainingError(
            f"{path} was trained on {', '.join(sorted(map(str, judged)))}, which this run would be judged on; "
            "start from a model that has not seen it"
        )
    return seen


def _differences(known: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Pages that were added, lost, changed, or given another role."""

    def facts(record: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
        return {
            f"{page['year']}/{page['name']}": (page["role"], page["image_sha256"], page["truth_sha256"])
            for page in record["pages"]
        }

    old, new = facts(known), facts(found)
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
