"""A comparative benchmark suite for Apache Kafka and Apache Pulsar: what an acknowledgement costs and protects."""
