"""Apache Pulsar, with BookKeeper and ZooKeeper."""
