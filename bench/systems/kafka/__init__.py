"""Apache Kafka: KRaft clusters of dedicated controllers and brokers, and librdkafka's clients."""

from bench.systems.kafka.system import Kafka

__all__ = ["Kafka"]
