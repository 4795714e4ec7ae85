"""Comparisons and studies: classical baselines, benchmark tables, leave-one-year-out, ablations."""
