"""The terms of the compound loss, each a small function that returns one number.

P are logits, p = sigmoid(P), y is ink, 1 or 0; all are (B, H, W) float32. Ratios are taken page by page and averaged;
a 1 in numerator and denominator keeps them finite on pages without ink or of nothing but ink.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from drmamba.losses.skeleton import soft_skeleton


def sdf(P: Tensor, distance: Tensor, T: float) -> Tensor:
    """SmoothL1(tanh(P / T), S(Y)), Eq. (19), which puts the zero level of the logits on the stroke boundary."""
    return F.smooth_l1_loss(torch.tanh(P / T), distance)


def bce(P: Tensor, y: Tensor) -> Tensor:
    """Binary cross-entropy of every pixel."""
    return F.binary_cross_entropy_with_logits(P, y)


def tversky(p: Tensor, y: Tensor, alpha: float | Tensor, beta: float | Tensor) -> Tensor:
    """One minus the Tversky index; alpha weighs false ink, beta lost ink, and alpha = 0.7 discourages thick strokes.

    Both are numbers, or one number for each page, (B,).
    """
    found, claimed, true = _sum(p * y), _sum(p), _sum(y)
    return (1 - (found + 1) / (found + alpha * (claimed - found) + beta * (true - found) + 1)).mean()


def pseudo_f(p: Tensor, y: Tensor, skeleton: Tensor) -> Tensor:
    """One minus the soft pseudo-F-measure: precision on pixels, recall on the skeleton of the ground truth."""
    precision = (_sum(p * y) + 1) / (_sum(p) + 1)
    recall = (_sum(p * skeleton) + 1) / (_sum(skeleton) + 1)
    return (1 - 2 * precision * recall / (precision + recall)).mean()


def cldice(p: Tensor, y: Tensor, skeleton: Tensor, steps: int) -> Tensor:
    """One minus the centre-line Dice (Shit et al., 2021), by which each skeleton should lie inside the other's ink."""
    own = soft_skeleton(p, steps)
    precision = (_sum(own * y) + 1) / (_sum(own) + 1)
    sensitivity = (_sum(p * skeleton) + 1) / (_sum(skeleton) + 1)
    return (1 - 2 * precision * sensitivity / (precision + sensitivity)).mean()


def boundary(p: Tensor, y: Tensor, band: Tensor) -> Tensor:
    """The mean ink that is wrongly predicted on the blank side of the dilated boundary."""
    blank = band * (1 - y)
    return (_sum(p * blank) / (_sum(blank) + 1)).mean()


def auxiliary(P_aux: Tensor, y: Tensor) -> Tensor:
    """Cross-entropy of the auxiliary logits (B, h, w) against the adaptively max-pooled ink."""
    height, width = P_aux.shape[-2:]
    return bce(P_aux, F.adaptive_max_pool2d(y[:, None], (height, width))[:, 0])


def _sum(x: Tensor) -> Tensor:
    return x.flatten(1).sum(1)  # (B,)
