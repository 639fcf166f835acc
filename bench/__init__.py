"""A comparative benchmark suite for Apache Kafka and Apache Pulsar: what an ack costs, and what it is worth."""
