"""The data of a run: its training crops, validation pages and held-out pages, and their manifest."""

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
from drmamba.config import CONVENTIONS, SYNTHETIC, RunConfig, replace_values
from drmamba.data.dataset import CropDataset
from drmamba.data.dibco import Pair, Split, find_pairs, split
from drmamba.data.inspection import inspect
from drmamba.data.manifest import manifest
from drmamba.data.paper_textures import PaperTextures
from drmamba.data.synthetic import Synthesizer
from drmamba.errors import DataError, TrainingError
from drmamba.files import write_atomic
from drmamba.images import read_ink, read_rgb
from drmamba.training.run_directory import RunDirectory

SYNTHETIC_PAGES = 100  # pages that make up one epoch of synthetic data
VALIDATION_SEED = 2**31  # seed of the synthetic validation pages, which no run uses for training
VALIDATION_SHAPE = (512, 768)  # height and width of the synthetic validation pages, in pixels
VALIDATION_PAGES = 8  # number of synthetic validation pages


@dataclass(frozen=True)
class EvaluationPage:
    """A page to score a network on: the files of a pair, or the pixels of a synthetic page."""

    year: str
    name: str
    pair: Pair | None = None
    pixels: tuple[NDArray[np.uint8], NDArray[np.bool_]] | None = None

    def read(self) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """RGB (H, W, 3) and ink (H, W)."""
        if self.pair is not None:
            return read_rgb(self.pair.image), read_ink(self.pair.truth)
        if self.pixels is None:
            raise DataError(f"{self.year}/{self.name} has neither files nor pixels")
        return self.pixels


@dataclass(frozen=True)
class RunData:
    """The pages of a run by role."""

    config: RunConfig
    split: Split
    pretraining_sets: tuple[str, ...] = ()  # the sets that the initial model was trained on

    @classmethod
    def of(cls, config: RunConfig) -> RunData:
        """Find the pages that the config names, and split them."""
        source = config.source
        earlier = _pretraining_sets(config)
        extra = [pair for given in source.extra for pair in _extra_pairs(given)]
        if source.data == SYNTHETIC:
            if source.hold_out or config.data.validate_on:
                raise DataError("synthetic pages have no years; leave out --hold-out and --validate-on")
            return cls(_with_synthetic_share(config), Split(tuple(extra), (), ()), earlier)
        divided = split(
            find_pairs(source.data),
            source.hold_out,
            validate_on=config.data.validate_on,
            share=config.data.validation_share,
            seed=config.train.seed,
            extra=extra,
        )
        return cls(config, divided, earlier)

    @property
    def pages(self) -> int:
        """The number of training pages in one epoch."""
        return len(self.split.train) or SYNTHETIC_PAGES

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the training sets, for the model's provenance."""
        made = (SYNTHETIC,) if self.config.source.data == SYNTHETIC else ()
        return (*made, *sorted({pair.year for pair in self.split.train}))

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
    def validation(self) -> list[EvaluationPage]:
        """The pages on which the run is validated."""
        if self.config.source.data == SYNTHETIC:
            return self._synthetic_pages()
        return evaluation_pages(self.split.validation)

    @property
    def held_out(self) -> list[EvaluationPage]:
        """The pages that are used for the final score only."""
        return evaluation_pages(self.split.held_out)

    def inspect(self) -> list[str]:
        """Check the pages; return the hashes of all that the run and its initial model have learned from.

        Whatever is wrong with a pair, and a page that is both seen and scored on, is an error.
        """
        found = inspect(self.split, self.config.data.textures)
        init = Path(self.config.source.init or "")
        earlier = read_header(init)[1].page_hashes if init.is_file() else ()
        if learned := found.learned(earlier):
            raise TrainingError(
                f"{init} was trained on pages that this run would be scored on ({', '.join(learned[:5])}); "
                "start from a model that was not"
            )
        return sorted({*found.hashes, *earlier})

    def record(self, directory: RunDirectory, hashes: Sequence[str] | None = None) -> None:
        """Write the manifest of a new run, or compare it with that of a resumed one."""
        path = directory.manifest
        found = {**manifest(self.split), "before": list(self.pretraining_sets)}
        if not path.is_file():
            found["hashes"] = list(self.inspect() if hashes is None else hashes)
            write_atomic(path, json.dumps(found, indent=1).encode())
            return
        known = directory.read_manifest()
        changed = _differences(known, found)
        if changed:
            raise TrainingError(
                f"the pages are not those that the run started with ({changed[0]}"
                + (f" and {len(changed) - 1} more" if len(changed) > 1 else "")
                + f"; see {path}); restore them or start a new run"
            )

    def _synthetic_pages(self) -> list[EvaluationPage]:
        maker = Synthesizer(self.config.data.synthetic, PaperTextures(self.config.data.textures))
        pages = []
        for number in range(VALIDATION_PAGES):
            page = maker.page(np.random.default_rng((VALIDATION_SEED, number)), VALIDATION_SHAPE)
            image = (page.image * 255 + 0.5).astype(np.uint8)
            pages.append(EvaluationPage(SYNTHETIC, f"{number:03d}", pixels=(image, page.ink)))
        return pages


def _with_synthetic_share(config: RunConfig) -> RunConfig:
    """The config of a run on synthetic pages: without extra pairs every crop is synthetic."""
    if not config.source.extra:
        return replace_values(config, {"data": {"synthetic_share": 1.0}})
    if not 0 < config.data.synthetic_share < 1:
        raise DataError(
            f"data.synthetic_share is {config.data.synthetic_share:g}; to train on synthetic pages and the pairs of "
            "--extra, set the share of the synthetic ones, for example --set data.synthetic_share=0.8"
        )
    return config


def _extra_pairs(given: str) -> list[Pair]:
    """The pairs below a folder; `FOLDER=all` says that their ground truth follows that convention."""
    root, _, convention = given.partition("=")
    pairs = find_pairs(root)
    if not convention:
        return pairs
    if convention not in CONVENTIONS:
        raise DataError(f"{given} does not name an ink convention; there are {', '.join(CONVENTIONS)}")
    return [replace(pair, convention=convention) for pair in pairs]


def evaluation_pages(pairs: Sequence[Pair]) -> list[EvaluationPage]:
    """The pages of pairs, to score a network on."""
    return [EvaluationPage(pair.year, pair.name, pair=pair) for pair in pairs]


def _pretraining_sets(config: RunConfig) -> tuple[str, ...]:
    """The training sets of the initial model (`--init`), which the run may not be scored on.

    A missing file is reported when the run loads its weights.
    """
    path = Path(config.source.init or "")
    if not path.is_file():
        return ()
    seen = read_header(path)[1].data
    scored = {config.source.hold_out, *config.data.validate_on} & {*seen}
    if scored:
        raise TrainingError(
            f"{path} was trained on {', '.join(sorted(map(str, scored)))}, which this run would be scored on; "
            "start from a model that was not trained on it"
        )
    return seen


def _differences(known: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """The pages that were added, removed or changed, or that have another role."""

    def facts(record: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
        return {
            f"{page['year']}/{page['name']}": (page["role"], page["image_sha256"], page["truth_sha256"])
            for page in record.get("pages", [])
        }

    old, new = facts(known), facts(found)
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
