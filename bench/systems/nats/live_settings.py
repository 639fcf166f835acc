"""Settings of live servers and streams, asked of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from bench.errors import ClusterError
from bench.model import Node, Settings
from bench.systems.nats.nodes import monitor
from bench.systems.nats.promise import ALWAYS, SYNC_INTERVAL
from bench.systems.nats.settings import canonical, server_properties
from bench.systems.properties import require

_ASK_S = 10.0
_IN_JETSTREAM = {
    "max_file_store": "max_storage",
    "max_memory_store": "max_memory",
    SYNC_INTERVAL: SYNC_INTERVAL,
}
"""What the server calls settings of its block `jetstream`."""
REPORTED_SETTINGS = ("max_payload", "max_pending", SYNC_INTERVAL, "write_deadline")
"""What belongs beside every measurement, whether set or not."""


def varz(node: Node) -> Mapping[str, Any]:
    """Return a server's page `varz`. Raises ClusterError."""
    try:
        answer = httpx.get(monitor(node, "varz"), timeout=_ASK_S, trust_env=False).raise_for_status()
        document: Mapping[str, Any] = answer.json()
    except (httpx.HTTPError, ValueError) as error:
        raise ClusterError(f"Reading {node.name}'s settings back: {error}.") from error
    return document


def in_force(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that a page `varz` tells, in ns and bytes."""
    jetstream = document["jetstream"]["config"]
    live_settings = {}
    for name in server_properties():
        value = jetstream.get(_IN_JETSTREAM[name]) if name in _IN_JETSTREAM else document.get(name)
        if value is not None:
            live_settings[name] = str(value)
    if jetstream.get("sync_always"):
        live_settings[SYNC_INTERVAL] = ALWAYS
    return live_settings


def server_settings(node: Node, scenario_settings: Settings) -> dict[str, str | None]:
    """Return what a live server has of what was asked for and of what is told in any case.

    Raises ClusterError where it does not have what was asked for.
    """
    live_settings, kinds = in_force(varz(node)), server_properties()
    canonical_settings = {
        name: canonical(kinds[name], value) or str(value) for name, value in scenario_settings.items()
    }
    require(node.name, canonical_settings, live_settings)
    return {name: live_settings.get(name) for name in sorted({*scenario_settings, *REPORTED_SETTINGS})}
