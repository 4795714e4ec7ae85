"""Several methods on the same pages: scores, time and memory side by side."""
