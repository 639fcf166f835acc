"""Apache Kafka: KRaft clusters of dedicated controllers and brokers, and librdkafka's clients."""
