"""The options that repeat a page's conversion: those that its settings stand for, wherever they are not the default."""

from __future__ import annotations

from typing import Any

from drmamba.config import PROTOCOLS, InferenceConfig, ReadingConfig

# Settings that have no option of their own, or that every run finds out for itself.
UNSTATED = ("windows", "min_contrast", "precision")


def redo_options(settings: dict[str, Any]) -> list[str]:
    """Return the options of `drmamba binarize` that give these settings of a report's line."""
    given = InferenceConfig.with_current_names(settings)
    stated = given.get("windows")
    windows: dict[str, Any] = stated if isinstance(stated, dict) else {}
    paper = PROTOCOLS["paper"]
    by_paper = (given.get("min_contrast"), windows.get("fit")) == (paper.min_contrast, paper.windows.fit)
    usual = PROTOCOLS["paper" if by_paper else "default"].to_dict()
    options = ["--protocol", "paper"] if by_paper else []
    for name, default in usual.items():
        if name in UNSTATED or given.get(name, default) == default:
            continue
        options += _option(name, given[name])
    for name in ("window", "stride"):
        if windows.get(name, usual["windows"][name]) != usual["windows"][name]:
            options += _option(name, windows[name])
    if given.get("soft") is True:
        options.append("--soft")
    if given.get("dpi", ReadingConfig().dpi) != ReadingConfig().dpi:
        options += _option("dpi", given["dpi"])
    return options


def _option(name: str, value: Any) -> list[str]:
    """Return the words of one option; a setting that is on or off is a switch."""
    words = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{words}" if value else f"--no-{words}"]
    return [f"--{words}", f"{value:g}" if isinstance(value, float) else str(value)]
