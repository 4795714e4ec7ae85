"""Every setting of the package, as frozen, typed dataclasses; each default value is written here, once."""

from drmamba.config.base import Config, replace_values, set_value
from drmamba.config.benchmark import CLASSICAL, BenchmarkConfig, ClassicalConfig
from drmamba.config.data import (
    PAGE_KINDS,
    SYNTHETIC,
    DataConfig,
    DegradeConfig,
    PageKind,
    RegionConfig,
    SyntheticConfig,
)
from drmamba.config.engine import EngineConfig, ScaleConfig
from drmamba.config.hub import PushConfig
from drmamba.config.inference import (
    KEPT,
    PROTOCOLS,
    InferenceConfig,
    Keep,
    Pictures,
    Precision,
    WindowConfig,
    chosen_settings,
)
from drmamba.config.losses import LOSS_TERMS, LossConfig
from drmamba.config.model import (
    CONVENTIONS,
    DEFAULT_MODEL,
    ENCODERS,
    PRESETS,
    STRIDES,
    Backend,
    BlockConfig,
    Convention,
    DetailConfig,
    Directions,
    ModelConfig,
    preset,
)
from drmamba.config.purposes import PURPOSES, Purpose, PurposeName
from drmamba.config.reading import ReadingConfig
from drmamba.config.service import ServiceConfig
from drmamba.config.training import RECIPES, RunConfig, SourceConfig, TrainConfig, recipe
from drmamba.config.writing import PdfCoding

__all__ = [
    "Backend",
    "BenchmarkConfig",
    "BlockConfig",
    "CLASSICAL",
    "CONVENTIONS",
    "ClassicalConfig",
    "Config",
    "Convention",
    "DEFAULT_MODEL",
    "DataConfig",
    "DegradeConfig",
    "DetailConfig",
    "Directions",
    "ENCODERS",
    "EngineConfig",
    "InferenceConfig",
    "KEPT",
    "Keep",
    "LOSS_TERMS",
    "LossConfig",
    "ModelConfig",
    "PRESETS",
    "PROTOCOLS",
    "Pictures",
    "Precision",
    "PushConfig",
    "RECIPES",
    "ReadingConfig",
    "RegionConfig",
    "RunConfig",
    "STRIDES",
    "SYNTHETIC",
    "ScaleConfig",
    "ServiceConfig",
    "SourceConfig",
    "SyntheticConfig",
    "TrainConfig",
    "PAGE_KINDS",
    "PURPOSES",
    "PdfCoding",
    "Purpose",
    "PurposeName",
    "WindowConfig",
    "PageKind",
    "chosen_settings",
    "preset",
    "recipe",
    "replace_values",
    "set_value",
]
