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
│   └── DecoderCrashError  a file ended the decoding process
├── DataError        a data set is incomplete or contradicts itself
├── MetricError      two pages cannot be compared
├── TrainingError    a run cannot go on (NaN loss, full disk, foreign run folder)
├── ClusterError     a Ray cluster cannot be reached, or gives no result
└── MissingExtra     an optional library is not installed; the message names the extra
"""

from __future__ import annotations


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


class MissingExtra(DRMambaError, ImportError):  # noqa: N818
    """An optional library is not installed."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f'{library} is not installed; get it with: pip install "drmamba[{extra}]"')
