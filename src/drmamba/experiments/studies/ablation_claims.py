"""The paper's claims about its ablations, each a comparison of two rows, and what our runs say about them."""

from __future__ import annotations

from typing import NamedTuple

from drmamba.experiments.paired import PairedDifference


class Claim(NamedTuple):
    """A sentence of the paper that one difference decides: the first run is better than the second."""

    sentence: str
    better: str
    worse: str


CLAIMS = (
    Claim("Two routes, joined by concatenation, are better than one.", "A1", "A0"),
    Claim("The same, against a single route with the output gate of a Mamba block.", "A1", "A0-gate"),
    Claim("Adaptive suppression is better than concatenation.", "A2", "A1"),
    Claim("Detail-guided reconstruction adds to it.", "A3", "A2"),
    Claim("The compound loss adds to it.", "A4", "A3"),
    Claim("Subtraction is better than addition.", "A2", "add"),
    Claim("A gate that depends on the input is better than a fixed one.", "A2", "beta-fixed"),
    Claim("The gap between fast and slow decay matters.", "A2", "shared-decay"),
    Claim("Four directions are better than one.", "A4", "directions-1"),
    Claim("Four directions are better than eight.", "A4", "directions-8"),
    Claim("Boundary and balance terms add to cross-entropy.", "boundary", "bce-light"),
    Claim("Connectivity terms add to them.", "A4", "boundary"),
    Claim("ConvNeXt-Tiny is better than VMamba.", "convnext_tiny-untrained", "vmamba_tiny-untrained"),
)
VERDICTS = {1: "holds here", -1: "the opposite holds here", 0: "cannot be told"}


def verdict(difference: PairedDifference | None) -> str:
    """What a difference says: both of its intervals, over seeds and over pages, must lie on one side of zero."""
    if difference is None:
        return "not measured yet"
    if difference.seeds.size < 2:
        return "cannot be told from one seed"
    return VERDICTS[difference.sign]
