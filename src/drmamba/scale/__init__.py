"""Beyond one machine: the same batch on a Ray cluster, over shared folders or object stores."""
