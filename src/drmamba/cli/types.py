"""Values on the command line that click has no type for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from drmamba.config import PROTOCOLS

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}  # bytes
OLD_PROTOCOLS = {"everyday": "default"}  # names of earlier versions, which still work


class ByteSize(click.ParamType[int]):
    """A number of bytes such as 1500MB, 2GB or 1.5GiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of bytes."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"\s*([\d.]+)\s*([kmg]i?)?b?\s*", str(value).lower())
        try:
            return int(float(match[1]) * UNITS[match[2] or ""]) if match else self.fail("", param, ctx)
        except (ValueError, click.UsageError):
            self.fail(f"{value!r} is not a size; write it like 1500MB or 2GB", param, ctx)


class PathOrURI(click.ParamType[Any]):
    """A path, or the URI of a place in an object store."""

    name = "path"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path | str:  # noqa: ARG002
        """Return a Path, or the URI as a string."""
        return str(value) if "://" in str(value) else Path(value)


class ScaleFactor(click.ParamType[Any]):
    """A number, or the word auto."""

    name = "auto|number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        """Return a float, or "auto"."""
        if value == "auto":
            return "auto"
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither auto nor a number", param, ctx)


class ProtocolChoice(click.Choice[str]):
    """The name of a protocol."""

    def __init__(self) -> None:
        super().__init__(list(PROTOCOLS))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the protocol's name of today."""
        return super().convert(OLD_PROTOCOLS.get(value, value), param, ctx)
