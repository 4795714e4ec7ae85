"""The settings of the training objective."""

from __future__ import annotations

from dataclasses import dataclass

from drmamba.config.base import Config


@dataclass(frozen=True, kw_only=True)
class LossConfig(Config):
    """The compound loss: a weight (the paper's lambda) for each term, where 0 omits it; then constants."""

    sdf: float = 1.0
    bce: float = 0.1
    tv: float = 0.3
    pfm: float = 0.5
    cldice: float = 0.2
    bnd: float = 0.2
    aux: float = 0.3
    saturation: float = 4.0  # pixels from the boundary at which the signed distance saturates (T)
    alpha: float = 0.7  # weight of false ink in the Tversky term
    beta: float = 0.3  # weight of lost ink in the Tversky term
    # Both weights for crops under the ink convention `all`, whose outlines are the true ones; none stands for the same.
    balance_all: tuple[float, float] | None = None
    band: float = 3.0  # pixels from the boundary within which L_bnd penalizes false ink
    thinning: int = 5  # erosions of the soft skeleton, enough for strokes of twice as many pixels

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (*LOSS_TERMS, "alpha", "beta"):
            self.require(name, getattr(self, name) >= 0, "0 or more")
        balance = self.balance_all or (0.0, 0.0)
        self.require("balance_all", min(balance) >= 0, "two weights, 0 or more")
        used = any(getattr(self, name) for name in LOSS_TERMS[:-1])
        self.require("sdf", used, "positive if all other terms are 0")
        self.require("saturation", 0.5 < self.saturation < 1e4, "more than 0.5 (pixels)")
        self.require("band", 0.5 < self.band < 1e4, "more than 0.5 (pixels)")
        self.require("thinning", 1 <= self.thinning <= 100, "from 1 to 100")


LOSS_TERMS = ("sdf", "bce", "tv", "pfm", "cldice", "bnd", "aux")
