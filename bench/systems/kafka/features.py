"""Features: behaviour of a whole Kafka cluster that has levels, set when its storage is formatted."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bench.errors import ClusterError
from bench.systems.kafka.tools import run_tool

FEATURES = "features"
"""Stands among a cluster's settings where those of a role stand."""
_TOOL = "org.apache.kafka.tools.FeatureCommand"
_LINE = re.compile(r"^Feature: (\S+)\s.*\bFinalizedVersionLevel: (\S+)", re.MULTILINE)


def finalized_levels(class_path: str, endpoint: str) -> Mapping[str, str]:
    """Return the level of each feature of a live cluster, by name, as the server's own tool tells it.

    Raises ClusterError with what the tool said.
    """
    doing = f"Asking {endpoint} for its features"
    printed = run_tool(class_path, _TOOL, ["--bootstrap-server", endpoint, "describe"], doing)
    levels = dict(_LINE.findall(printed))
    if not levels:
        raise ClusterError(f"{doing}: {_TOOL} told none: {printed.strip()}")
    return levels
