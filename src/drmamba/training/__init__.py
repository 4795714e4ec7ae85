"""Training: a step, a schedule, an average of the weights, and the run that ties them together."""
