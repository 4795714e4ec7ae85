"""Clean black-and-white pages from degraded document scans, with the DR-Mamba network.

The public names are those in `__all__`, which are the ones that the guides use. Importing the package loads
neither torch nor any image library: each name is fetched from its module when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drmamba.config import InferenceConfig, ModelConfig, preset
    from drmamba.errors import DRMambaError
    from drmamba.images import ArraySource, read_ink, read_rgb
    from drmamba.inference.binarizer import Binarizer
    from drmamba.inference.explain import Exploration
    from drmamba.metrics import score
    from drmamba.model.network import DRMamba

__version__ = "0.1.0"

__all__ = [
    "ArraySource",
    "Binarizer",
    "DRMamba",
    "DRMambaError",
    "Exploration",
    "InferenceConfig",
    "ModelConfig",
    "__version__",
    "preset",
    "read_ink",
    "read_rgb",
    "score",
]

_MODULES = {
    "ArraySource": "drmamba.images",
    "Binarizer": "drmamba.inference.binarizer",
    "DRMamba": "drmamba.model.network",
    "DRMambaError": "drmamba.errors",
    "Exploration": "drmamba.inference.explain",
    "InferenceConfig": "drmamba.config",
    "ModelConfig": "drmamba.config",
    "preset": "drmamba.config",
    "read_ink": "drmamba.images",
    "read_rgb": "drmamba.images",
    "score": "drmamba.metrics",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'drmamba' has no attribute {name!r}")
    try:
        return getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        from drmamba.errors import missing_extra

        if (missing := missing_extra(error)) is None:
            raise
        raise missing from error


def __dir__() -> list[str]:
    return sorted(__all__)
