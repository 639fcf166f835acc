"""Figures of a NATS server, from its monitoring page `varz`; it does not time requests or fsyncs."""

from __future__ import annotations

from bench.model import Node
from bench.systems.nats.nodes import monitor
from bench.systems.server_metrics import Scrape, Series

_SERIES = {
    "bytes_in": (Series("in_client_bytes"),),
    "bytes_out": (Series("out_client_bytes"),),
    "requests": (Series("in_client_msgs"),),
}


def scrape(node: Node) -> Scrape:
    """Return what to read of a server."""
    return Scrape(monitor(node, "varz"), _SERIES, json=True)
