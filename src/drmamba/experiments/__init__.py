"""Comparisons of methods (`benchmark`), scores of pages on disk (`evaluation`), studies of the network (`studies`)."""
