"""The options that repeat a page's conversion: those that its settings stand for, wherever they are not the default."""

from __future__ import annotations

from typing import Any

from drmamba.config import InferenceConfig, ReadingConfig

VALUES = ("threshold", "suppress", "keep", "scale")
SWITCHES = ("context", "invert", "auto_rotate", "add_noise", "keep_bilevel", "margins", "despeckle")


def redo_options(settings: dict[str, Any]) -> list[str]:
    """Return the options of `drmamba binarize` that give these settings of a report's line."""
    given, usual = InferenceConfig.with_current_names(settings), InferenceConfig().to_dict()
    options: list[str] = []
    for name in VALUES:
        if name in given and given[name] != usual[name]:
            options += [
                _option(name),
                f"{given[name]:g}" if isinstance(given[name], float) else str(given[name]),
            ]
    for name in SWITCHES:
        if name in given and name in usual and given[name] != usual[name]:
            options.append(_option(name) if given[name] else f"--no-{name.replace('_', '-')}")
    windows = given.get("windows")
    for name in ("window", "stride"):
        if isinstance(windows, dict) and windows.get(name, usual["windows"][name]) != usual["windows"][name]:
            options += [_option(name), str(windows[name])]
    if given.get("soft") is True:
        options.append("--soft")
    if isinstance(given.get("dpi"), int) and given["dpi"] != ReadingConfig().dpi:
        options += ["--dpi", str(given["dpi"])]
    return options


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
