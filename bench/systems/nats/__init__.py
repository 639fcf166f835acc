"""NATS JetStream: a stream for each partition, replicated by Raft among servers of one role."""
