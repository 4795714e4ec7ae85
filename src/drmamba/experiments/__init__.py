"""Comparisons and studies: `benchmark`, `evaluation`, and `studies` of the network; reports are shared."""
