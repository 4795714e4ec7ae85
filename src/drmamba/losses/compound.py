"""The weighted sum of all terms, Eqs. (18), (20) and (21)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor

from drmamba.config import LossConfig
from drmamba.losses import terms


@dataclass(frozen=True)
class CompoundLoss:
    """The loss to minimise, and the detached, unweighted value of every term in use."""

    total: Tensor
    parts: dict[str, Tensor]


def compound(
    logits: Tensor, auxiliary: Tensor, targets: Mapping[str, Tensor], config: LossConfig
) -> CompoundLoss:
    """Compare logits (B, H, W) and auxiliary logits (B, h, w) with the targets of their crops.

    A term whose weight is 0 is not computed. Everything is computed in float32, whatever type autocast gave the logits.
    """
    P, y = logits.float(), targets["ink"]
    p = P.sigmoid()
    evaluate: dict[str, Callable[[], Tensor]] = {
        "sdf": lambda: terms.sdf(P, targets["distance"], config.saturation),
        "bce": lambda: terms.bce(P, y),
        "tv": lambda: terms.tversky(p, y, config.alpha, config.beta),
        "pfm": lambda: terms.pseudo_f(p, y, targets["skeleton"]),
        "cldice": lambda: terms.cldice(p, y, targets["skeleton"], config.thinning),
        "bnd": lambda: terms.boundary(p, y, targets["band"]),
        "aux": lambda: terms.auxiliary(auxiliary.float(), y),
    }
    weights = {name: getattr(config, name) for name in evaluate}
    values = {name: term() for name, term in evaluate.items() if weights[name]}
    total = sum((weights[name] * value for name, value in values.items()), start=P.new_zeros(()))
    return CompoundLoss(total, {name: value.detach() for name, value in values.items()})
