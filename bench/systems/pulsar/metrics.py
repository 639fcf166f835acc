"""What Pulsar's servers tell of themselves: each has its figures on the web server that it brings.

They add up times in whole milliseconds, cut off, event by event: such sums are lower bounds, 0 for a quick fsync.
"""

from __future__ import annotations

from bench.model import Node
from bench.systems.pulsar.nodes import BOOKIE, BROKER, ZOOKEEPER, web
from bench.systems.pulsar.rest_client import UNDER_REPLICATED
from bench.systems.server_metrics import Scrape, Series

_MS = 0.001
_JVM = {
    "gc_s": (Series("jvm_gc_collection_seconds_sum"),),
    "heap_bytes": (Series("jvm_memory_bytes_used", {"area": "heap"}),),
}
_PATHS = {ZOOKEEPER: "metrics", BOOKIE: "metrics", BROKER: "metrics/"}
_SERIES = {
    ZOOKEEPER: _JVM,
    BOOKIE: {
        **_JVM,
        "bytes_in": (Series("bookie_WRITE_BYTES"),),
        "bytes_out": (Series("bookie_READ_BYTES"),),
        "requests": (Series("bookie_journal_JOURNAL_ADD_ENTRY_count", {"success": "true"}),),
        "request_s": (Series("bookie_journal_JOURNAL_ADD_ENTRY_sum", {"success": "true"}, _MS),),
        "flushes": (Series("bookie_journal_JOURNAL_SYNC_count", {"success": "true"}),),
        "flush_s": (Series("bookie_journal_JOURNAL_SYNC_sum", {"success": "true"}, _MS),),
    },
    BROKER: {
        **_JVM,
        "bytes_in": (Series("pulsar_broker_in_bytes_total"),),
        "bytes_out": (Series("pulsar_broker_out_bytes_total"),),
        "requests": (Series("pulsar_broker_publish_latency_count"),),
        "request_s": (Series("pulsar_broker_publish_latency_sum", scale=_MS),),
    },
}


def scrape(node: Node) -> Scrape:
    """Return what to read of a node; bookies also tell what AutoRecovery has on its list, each the same."""
    listed = {}
    if node.role == BOOKIE:
        listed["under_replicated"] = f"http://{web(node)}/{UNDER_REPLICATED}"
    return Scrape(f"http://{web(node)}/{_PATHS[node.role]}", _SERIES[node.role], listed)
