"""Apache Pulsar, with BookKeeper and ZooKeeper."""

from bench.systems.pulsar.system import Pulsar

__all__ = ["Pulsar"]
