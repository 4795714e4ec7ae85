"""The settings of publishing a model on the Hub."""

from __future__ import annotations

from dataclasses import dataclass

from drmamba.config.base import Config


@dataclass(frozen=True, kw_only=True)
class PushConfig(Config):
    """A model on its way to the Hub."""

    private: bool = False  # if the repository is new
    branch: str | None = None  # None: the main one
    message: str = "A drmamba model"
    licence: str = "apache-2.0"  # of the weights; an identifier of the Hub's
