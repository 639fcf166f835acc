"""What ZooKeeper holds before the first process: what `pulsar initialize-cluster-metadata` would write."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence

CLUSTER = "bench"
TENANT = "public"

_BUNDLES = 4
"""As `defaultNumberOfNamespaceBundles` is shipped; topics of trials have namespaces of their own."""


def znodes(broker_addresses: Sequence[str]) -> dict[str, bytes]:
    """Return path and content of every znode; a bookie and a broker refuse to start without them."""
    return {
        "/bookies": b"{}",
        "/ledgers/available/readonly": b"",
        # Bookies that start together race for this one, and the loser ends.
        "/ledgers/underreplication/LAYOUT": b'type: "BASIC"\nversion: 1\n',
        "/ledgers/INSTANCEID": str(uuid.uuid4()).encode(),
        f"/admin/clusters/{CLUSTER}": _json(_cluster(broker_addresses)),
        f"/admin/policies/{TENANT}": _json({"allowedClusters": [CLUSTER], "adminRoles": []}),
        f"/admin/policies/{TENANT}/default": _json(_namespace()),
        "/admin/policies/pulsar": _json({"allowedClusters": [CLUSTER], "adminRoles": []}),
        "/admin/policies/pulsar/system": _json(_namespace()),
    }


def _cluster(addresses: Sequence[str]) -> dict[str, object]:
    return {
        "serviceUrl": "http://" + ",".join(f"{address}:8080" for address in addresses),
        "brokerServiceUrl": "pulsar://" + ",".join(f"{address}:6650" for address in addresses),
    }


def _namespace() -> dict[str, object]:
    step = (1 << 32) // _BUNDLES
    boundaries = [f"0x{min(step * number, 0xFFFFFFFF):08x}" for number in range(_BUNDLES + 1)]
    return {
        "replication_clusters": [CLUSTER],
        "bundles": {"boundaries": boundaries, "numBundles": _BUNDLES},
    }


def _json(content: dict[str, object]) -> bytes:
    return json.dumps(content).encode()
