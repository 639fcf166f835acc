"""How fast: quantiles, throughput, and both over time."""
