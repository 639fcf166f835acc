"""Metrics of a Kafka server, through the JMX exporter that runs in it (clusters/kafka/metrics.yaml).

Requests are timed in whole milliseconds, rounded; flushes exactly.
"""

from __future__ import annotations

from bench.model import Node
from bench.systems.kafka.nodes import METRICS_PORT, ZOOKEEPER
from bench.systems.server_metrics import Scrape, Series

_MS = 0.001
_SERIES = {
    "bytes_in": (Series("kafka_BytesIn"),),
    "bytes_out": (Series("kafka_BytesOut"),),
    "requests": (Series("kafka_Produce_ms_Count"),),
    "request_s": (Series("kafka_Produce_ms_Mean", times="kafka_Produce_ms_Count", scale=_MS),),
    "flushes": (Series("kafka_LogFlush_ms_Count"),),
    "flush_s": (Series("kafka_LogFlush_ms_Mean", times="kafka_LogFlush_ms_Count", scale=_MS),),
    "isr_changes": (Series("kafka_IsrShrinks"), Series("kafka_IsrExpands")),
    "under_replicated": (Series("kafka_UnderReplicatedPartitions"),),
    "gc_s": (Series("jvm_gc_collection_seconds_sum"),),
    "heap_bytes": (Series("jvm_memory_used_bytes", {"area": "heap"}),),
}


def scrape(node: Node) -> Scrape | None:
    """Return what to read of a node; ZooKeeper beside Kafka runs without the exporter."""
    if node.role == ZOOKEEPER:
        return None
    return Scrape(f"http://{node.address}:{METRICS_PORT}/metrics", _SERIES)
