"""What a workload asks of servers, learned from measured runs: the base of a cluster's size."""
