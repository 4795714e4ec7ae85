"""Every error this package raises on purpose.

DRMambaError
├── ConfigError      a setting is unknown, of the wrong type or out of range
├── InputError       a tensor or array has the wrong shape, dtype or device
├── BackendError     a scan backend was asked for by name and cannot run here
├── CheckpointError  a weights file is missing, foreign, or does not fit the network
├── FileError        a file cannot be written, or cannot be copied from or to a store
├── ImageError       a picture cannot be read, or cannot be written in the format asked for
│   ├── PixelLimitError    a page declares more pixels than are allowed
│   ├── MemoryLimitError   a page needs more memory than there is
│   ├── TimeLimitError     decoding a file takes longer than is allowed
│   └── DecoderCrashError  a file ended the decoding process
├── DataError        a data set is incomplete or contradicts itself
├── MetricError      two pages cannot be compared
├── TrainingError    a run cannot go on (NaN loss, full disk, foreign run folder)
├── ClusterError     a Ray cluster cannot be reached, or gives no result
└── MissingExtra     an optional library is not installed; the message names the extra
"""

from __future__ import annotations

from pathlib import Path


def one_line(text: str) -> str:
    """Return a text as one line that can be printed.

    File names may hold line breaks, which would forge lines of a log, and escape sequences, which a terminal obeys.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class DRMambaError(Exception):
    """Base of all errors of this package; its message can be shown to a user as it is."""


class ConfigError(DRMambaError):
    """A setting is unknown, of the wrong type or out of range."""


class InputError(DRMambaError, ValueError):
    """A tensor or array has the wrong shape, dtype or device."""


class BackendError(DRMambaError):
    """A scan backend was asked for by name and cannot run here."""


class CheckpointError(DRMambaError):
    """A weights file is missing, foreign, or does not fit the network."""


class FileError(DRMambaError):
    """A file cannot be written, or cannot be copied from or to a store."""


class ImageError(DRMambaError):
    """A picture cannot be read, or cannot be written in the format asked for."""


class PixelLimitError(ImageError):
    """A page declares more pixels (`value`) than are allowed (`limit`)."""

    def __init__(self, message: str, value: int = 0, limit: int = 0) -> None:
        super().__init__(message)
        self.value, self.limit = value, limit


class MemoryLimitError(ImageError):
    """A page needs more bytes (`value`) than there are (`limit`); 0 stands for an unknown number."""

    def __init__(self, message: str, value: int = 0, limit: int = 0) -> None:
        super().__init__(message)
        self.value, self.limit = value, limit


class TimeLimitError(ImageError):
    """Decoding a file takes longer than is allowed; its remaining pages are given up, too."""


class DecoderCrashError(ImageError):
    """A file ended the decoding process, because it is damaged or because memory ran out."""


class DataError(DRMambaError):
    """A data set is incomplete or contradicts itself."""


class MetricError(DRMambaError):
    """Two pages cannot be compared."""


class TrainingError(DRMambaError):
    """A run cannot go on."""


class ClusterError(DRMambaError):
    """A Ray cluster cannot be reached, or gives no result."""


# The extra that brings each library which more than one module imports.
EXTRAS = {
    "matplotlib": "evaluate",
    "numba": "evaluate",
    "safetensors": "torch",
    "scipy": "evaluate",
    "torch": "torch",
}


class MissingExtra(DRMambaError, ImportError):  # noqa: N818
    """An optional library is not installed; `reason` may say what needs it."""

    def __init__(self, library: str, extra: str, reason: str = "") -> None:
        needed = f" ({reason})" if reason else ""
        super().__init__(f"{library} is not installed{needed}; get it with: {install_command(extra)}")


def missing_extra(error: ModuleNotFoundError, extra: str = "") -> MissingExtra | None:
    """Return the error of a library that an extra brings, or None; `extra` is the one that the work needs, if known."""
    library = (error.name or "").partition(".")[0]
    return MissingExtra(library, extra or EXTRAS[library]) if library in EXTRAS else None


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation, be it a release or a checkout."""
    checkout = Path(__file__).parents[2]
    if (checkout / "pyproject.toml").is_file():
        return f'pip install -e "{checkout}[{extra}]"'
    return f'pip install "{_source()}[{extra}]"'


def _source() -> str:
    """Return what pip has installed the package from: a local folder or file, or the name alone."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    try:
        stated = json.loads(distribution("drmamba").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        stated = {}
    path = unquote(urlsplit(str(stated.get("url", ""))).path) if "file:" in str(stated.get("url")) else ""
    return path if path and Path(path).exists() else "drmamba"
