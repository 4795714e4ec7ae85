"""Studies that train many networks: leave one year out, and the paper's ablation tables."""
