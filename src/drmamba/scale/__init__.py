"""Beyond one machine: the batch on a Ray cluster, over shared folders or object stores."""
