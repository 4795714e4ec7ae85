"""The contest's scores of binarized pages that are already on disk."""
