"""The weighted sum of all terms, Eqs. (18), (20) and (21)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from drmamba.config import LossConfig
from drmamba.losses import terms

SURE = 10.0  # a logit that leaves nearly no loss


@dataclass(frozen=True)
class CompoundLoss:
    """The loss to minimise, and the detached, unweighted value of every term in use."""

    total: Tensor
    parts: dict[str, Tensor]


def compound(
    logits: Tensor, auxiliary: Sequence[Tensor], targets: Mapping[str, Tensor], config: LossConfig
) -> CompoundLoss:
    """Compare logits (B, H, W) and those of each auxiliary head, (B, h, w), with the targets of their crops.

    Where the targets are `unknown`, whatever the network says is right. Crops may bring Tversky weights of their own,
    `balance` (B, 2). A term whose weight is 0 is not computed.
    Everything is computed in float32, whatever type autocast gave the logits.
    """
    y = targets["ink"]
    P, *P_aux = (values.float() for values in (logits, *auxiliary))
    if "unknown" in targets:
        P, *P_aux = (settled(values, y, targets["unknown"]) for values in (P, *P_aux))
    p = P.sigmoid()
    alpha, beta = targets["balance"].unbind(1) if "balance" in targets else (config.alpha, config.beta)
    evaluate: dict[str, Callable[[], Tensor]] = {
        "sdf": lambda: terms.sdf(P, targets["distance"], config.saturation),
        "bce": lambda: terms.bce(P, y),
        "tv": lambda: terms.tversky(p, y, alpha, beta),
        "pfm": lambda: terms.pseudo_f(p, y, targets["skeleton"]),
        "cldice": lambda: terms.cldice(p, y, targets["skeleton"], config.thinning),
        "bnd": lambda: terms.boundary(p, y, targets["band"]),
        "aux": lambda: sum((terms.auxiliary(values, y) for values in P_aux), start=P.new_zeros(())),
    }
    weights = {name: getattr(config, name) for name in evaluate}
    values = {name: term() for name, term in evaluate.items() if weights[name]}
    total = sum((weights[name] * value for name, value in values.items()), start=P.new_zeros(()))
    return CompoundLoss(total, {name: value.detach() for name, value in values.items()})


def settled(logits: Tensor, y: Tensor, unknown: Tensor) -> Tensor:
    """The logits, replaced by sure and right ones without a gradient where the mask `unknown` is not zero."""
    shape = logits.shape[-2:]
    ink, blind = (F.adaptive_max_pool2d(field[:, None], shape)[:, 0] for field in (y, unknown))
    return torch.where(blind > 0, SURE * (2 * ink - 1), logits)
