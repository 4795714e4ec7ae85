"""Classical binarization by doxapy; the pixels depend on its version, which every table states."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from drmamba.config import CLASSICAL, ClassicalConfig
from drmamba.errors import ConfigError, MissingExtra
from drmamba.images import Ink


def _library() -> Any:
    try:
        import doxapy
    except ImportError as error:
        raise MissingExtra("doxapy", "evaluate") from error
    return doxapy


def library_version() -> str:
    """Return the library's name and version; another version gives other pixels."""
    _library()
    return f"doxapy {metadata.version('doxapy')}"


def grey(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the rounded BT.601 luma, 0 black to 255 white, which the classical methods work on."""
    return np.asarray(Image.fromarray(rgb).convert("L"))


def settings(name: str) -> ClassicalConfig:
    """Return the settings of a method; an unknown name is an error that lists the known ones."""
    if name not in CLASSICAL:
        raise ConfigError(f"there is no classical method {name!r}; there are {', '.join(CLASSICAL)}")
    return CLASSICAL[name]


def binarize(name: str, page: NDArray[np.uint8], config: ClassicalConfig | None = None) -> Ink:
    """Return the ink (True) that a classical method finds on a grey page, (H, W)."""
    config = config or settings(name)
    algorithms = _library().Binarization.Algorithms
    if not hasattr(algorithms, name.upper()):
        raise ConfigError(f"{library_version()} has no method {name!r}")
    parameters = {key: value for key, value in config.to_dict().items() if value is not None}
    method = _library().Binarization(getattr(algorithms, name.upper()))
    method.initialize(np.ascontiguousarray(page))
    result = np.empty(page.shape, np.uint8)
    method.to_binary(result, parameters)
    ink: Ink = result == 0
    return ink
