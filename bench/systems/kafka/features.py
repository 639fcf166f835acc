"""Features: behaviour of a whole Kafka cluster that has levels, set when its storage is formatted."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping

from bench.errors import ClusterError

FEATURES = "features"
"""Stands among a cluster's settings where those of a role stand."""
_TOOL = "org.apache.kafka.tools.FeatureCommand"
_LINE = re.compile(r"^Feature: (\S+)\s.*\bFinalizedVersionLevel: (\S+)", re.MULTILINE)


def finalized(class_path: str, endpoint: str) -> Mapping[str, str]:
    """Return the level of each feature of a live cluster, by name, as the server's own tool tells it.

    Raises ClusterError with what the tool said.
    """
    command = ["java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", class_path, _TOOL]
    command += ["--bootstrap-server", endpoint, "describe"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = dict(_LINE.findall(done.stdout))
    if done.returncode or not found:
        said = done.stderr.strip() or done.stdout.strip()
        raise ClusterError(
            f"Asking {endpoint} for its features: {_TOOL} ended with status {done.returncode}: {said}"
        )
    return found
