"""The settings of publishing a model on the Hub."""

from __future__ import annotations

from dataclasses import dataclass

from drmamba.config.base import Config


@dataclass(frozen=True, kw_only=True)
class PushConfig(Config):
    """How a model is published on the Hub."""

    private: bool = False  # whether a new repository is private
    branch: str | None = None  # None stands for the main branch
    message: str = "A drmamba model"
    licence: str = "apache-2.0"  # licence of the weights, as the Hub spells it
