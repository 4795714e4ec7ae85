"""Training runs: data, updates, schedule, averaged weights, checkpoints and scores."""
