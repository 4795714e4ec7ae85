"""Clean black-and-white pages from degraded document scans, by the DR-Mamba network.

The public surface is what `__all__` names. Importing the package loads neither torch nor any image
library: each name below is fetched from its module when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drmamba.config import ModelConfig, preset
    from drmamba.errors import DRMambaError
    from drmamba.inference.binarizer import Binarizer
    from drmamba.model.network import DRMamba

__version__ = "0.1.0"

__all__ = ["Binarizer", "DRMamba", "DRMambaError", "ModelConfig", "__version__", "preset"]

_HOMES = {
    "Binarizer": "drmamba.inference.binarizer",
    "DRMamba": "drmamba.model.network",
    "DRMambaError": "drmamba.errors",
    "ModelConfig": "drmamba.config",
    "preset": "drmamba.config",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'drmamba' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
