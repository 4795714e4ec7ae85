"""The option of a command that would have prevented an error."""

from __future__ import annotations

from drmamba.errors import DecoderCrashError, MemoryLimitError, PixelLimitError, TimeLimitError


def remedy(error: Exception) -> str:
    """Return what to change on the command line, or an empty string."""
    if isinstance(error, PixelLimitError):
        return "see --max-pixels"
    if isinstance(error, MemoryLimitError):
        if not error.value:
            return "raise --max-memory"
        from drmamba.inference.memory import PAGE_SHARE

        return f"raise --max-memory by {(error.value - error.limit) / PAGE_SHARE / 1e6:,.0f} MB"
    if isinstance(error, TimeLimitError):
        return "see --max-seconds"
    if isinstance(error, DecoderCrashError):
        return "if it is not damaged, raise --max-memory"
    return ""
