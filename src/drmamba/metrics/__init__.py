"""The contest's scores, as the contest computes them."""
