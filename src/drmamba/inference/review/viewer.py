"""The files of the page viewer, which the review file and the web page show; viewer.js documents its interface."""

from __future__ import annotations

from importlib.resources import files


def viewer_script() -> str:
    """Return the script that defines `PageViewer`."""
    return (files("drmamba.inference.review") / "viewer.js").read_text(encoding="utf-8")


def viewer_style() -> str:
    """Return the style sheet of the viewer."""
    return (files("drmamba.inference.review") / "viewer.css").read_text(encoding="utf-8")
