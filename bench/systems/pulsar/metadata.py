"""What ZooKeeper holds before the first process: what `pulsar initialize-cluster-metadata` would write."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence

from bench.model import Node
from bench.systems.pulsar import bookie_groups
from bench.systems.pulsar.nodes import endpoint, web

CLUSTER = "bench"
TENANT = "public"

_BUNDLES = 4
"""As `defaultNumberOfNamespaceBundles` is shipped; topics of trials have namespaces of their own."""


def znodes(brokers: Sequence[Node], bookies: Sequence[Node]) -> dict[str, bytes]:
    """Return path and content of every znode; a bookie and a broker refuse to start without them."""
    return {
        "/bookies": bookie_groups.racks(bookies),
        "/ledgers/available/readonly": b"",
        # Bookies that start together race for this one, and the loser ends.
        "/ledgers/underreplication/LAYOUT": b'type: "BASIC"\nversion: 1\n',
        "/ledgers/INSTANCEID": str(uuid.uuid4()).encode(),
        f"/admin/clusters/{CLUSTER}": _json(_cluster(brokers)),
        f"/admin/policies/{TENANT}": _json({"allowedClusters": [CLUSTER], "adminRoles": []}),
        f"/admin/policies/{TENANT}/default": _json(_namespace()),
        "/admin/policies/pulsar": _json({"allowedClusters": [CLUSTER], "adminRoles": []}),
        "/admin/policies/pulsar/system": _json(_namespace()),
    }


def _cluster(brokers: Sequence[Node]) -> dict[str, object]:
    return {"serviceUrl": "http://" + ",".join(map(web, brokers)), "brokerServiceUrl": endpoint(brokers)}


def _namespace() -> dict[str, object]:
    step = (1 << 32) // _BUNDLES
    boundaries = [f"0x{min(step * number, 0xFFFFFFFF):08x}" for number in range(_BUNDLES + 1)]
    return {
        "replication_clusters": [CLUSTER],
        "bundles": {"boundaries": boundaries, "numBundles": _BUNDLES},
    }


def _json(content: dict[str, object]) -> bytes:
    return json.dumps(content).encode()
